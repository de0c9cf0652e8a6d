"""From decoded messages to the frozen models of :mod:`warpglass.ncu.model`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

from warpglass.ncu.container import Container
from warpglass.ncu.model import (
    CallFrame,
    FunctionAddress,
    ImportedFile,
    Instance,
    Launch,
    Metric,
    NvtxPath,
    Report,
    Rule,
    RuleMarker,
    RuleMessage,
    Session,
    Source,
    Value,
)
from warpglass.ncu.units import unit_of
from warpglass.ncu.unknown import unknown_parts

__all__ = ["decode_report"]

_MESSAGE_TYPES = {0: "none", 1: "ok", 2: "warning", 3: "error", 4: "optimization"}
#: Of the container; every file seen has it.
_VERSION = 7
#: Parts of one result; real ones hold some 8,000 metrics, 100 rules, 40 sections, 60 frames.
_MOST_METRICS, _MOST_RULES, _MOST_SECTIONS, _MOST_FRAMES = 100_000, 10_000, 1_000, 1_000
#: NVTX threads and stacks that are looked at.
_MOST_STACKS = 10_000
#: Ranges within ranges that are kept; programs nest some ten.
_MAX_NESTING = 100
_UNNAMED = "(unnamed)"
_SPEEDUP_SCOPES = {1: "local", 2: "global"}


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _value(message: Any) -> Value:
    """A stored value: the one field that is set, None where none is (n/a, never 0)."""
    if message.HasField("float64"):
        return float(message.float64)
    if message.HasField("float32"):
        return float(message.float32)
    if message.HasField("uint64"):
        return int(message.uint64)
    if message.HasField("uint32"):
        return int(message.uint32)
    if message.HasField("text"):
        return _text(message.text)
    return None


class _Instances(Sequence[Instance]):
    """Instances decoded when they are looked at: a report holds millions, a page shows a few."""

    __slots__ = ("_raw",)

    def __init__(self, raw: Sequence[Any]) -> None:
        self._raw = raw

    def __len__(self) -> int:
        return len(self._raw)

    def __iter__(self) -> Iterator[Instance]:
        return map(_instance, self._raw)

    @overload
    def __getitem__(self, index: int) -> Instance: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Instance]: ...
    def __getitem__(self, index: int | slice) -> Instance | Sequence[Instance]:
        if isinstance(index, slice):
            return tuple(map(_instance, self._raw[index]))
        return _instance(self._raw[index])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return len(self._raw)


def _instance(entry: Any) -> Instance:
    key = _value(entry.correlation) if entry.HasField("correlation") else None
    return Instance(key, _value(entry.value))


def _strange(message: Any, instances: Sequence[Instance]) -> bool:
    """Whether a metric or its first instance holds a value, but of no kind that is known."""
    first = message.instances[0] if instances else None
    return message.value.ByteSize() > 0 or (
        first is not None and first.value.ByteSize() > 0 and _value(first.value) is None
    )


def _metrics(messages: Iterable[Any], strings: Sequence[str], problems: list[str]) -> Mapping[str, Metric]:
    out: dict[str, Metric] = {}
    for message in messages:
        if message.name_id >= len(strings):
            problems.append(f"a metric names string {message.name_id}, of {len(strings)} there are")
            continue
        name = strings[message.name_id]
        instances: Sequence[Instance] = _Instances(message.instances) if message.instances else ()
        value = _value(message.value) if message.HasField("value") else None
        if value is None and _strange(message, instances):
            problems.append("values of a kind that this reader does not know read n/a")
        # A name may repeat within one result; the last one counts.
        out[name] = Metric(name, value, unit_of(name), instances)
    return out


#: Instructions of a rule's table that are pointed at.
_MAX_TABLE = 5
_MARKER_KINDS = {0: "sass", 1: "source"}


def _marker(message: Any) -> RuleMarker:
    kind = _MARKER_KINDS.get(int(message.kind), "unknown")
    return RuleMarker(
        kind,
        int(message.pc) if kind == "sass" else None,
        _text(message.file) or None,
        int(message.line) if kind == "source" else None,
        _text(message.message),
    )


def _table_markers(table: Any, metrics: Mapping[str, Metric]) -> Iterator[RuleMarker]:
    """The instructions with the most of a rule's table: older versions list them there instead of marking."""
    for cell in table.metrics:
        metric = metrics.get(_text(cell.name))
        found = [
            (float(entry.value), entry.key)
            for entry in (metric.instances if metric is not None else ())
            if isinstance(entry.key, int) and isinstance(entry.value, (int, float)) and entry.value > 0
        ]
        for value, pc in sorted(found, key=lambda pair: (-pair[0], pair[1]))[:_MAX_TABLE]:
            yield RuleMarker("sass", pc, None, None, f"{_text(table.label)}: {value:,.10g}")


def _rules(messages: Iterable[Any], metrics: Mapping[str, Metric]) -> tuple[Rule, ...]:
    rules = []
    for message in messages:
        if not message.HasField("body"):
            continue  # the rule had nothing to say
        texts = []
        for item in message.body.items:
            speedup = float(item.speedup.percent) if item.HasField("speedup") else None
            scope = _SPEEDUP_SCOPES.get(item.speedup.type) if item.HasField("speedup") else None
            focus: tuple[tuple[str, float | None, str], ...] = ()
            if item.HasField("focus"):
                f = item.focus
                focus = ((_text(f.metric), float(f.value) if f.HasField("value") else None, _text(f.info)),)
            if item.HasField("message"):
                m = item.message
                severity = _MESSAGE_TYPES.get(m.type, "info")
                texts.append(RuleMessage(severity, _text(m.title), _text(m.text), speedup, scope, focus))
            elif texts and (speedup is not None or focus):
                # A gain or focus metric may stand in an item of its own, behind the message it belongs to.
                last = texts.pop()
                texts.append(
                    RuleMessage(
                        last.severity,
                        last.title,
                        last.text,
                        speedup if speedup is not None else last.speedup,
                        scope if scope is not None else last.scope,
                        last.focus + focus,
                    )
                )
        markers = tuple(_marker(marker) for marker in message.markers)
        if not markers:
            for item in message.body.items:
                if item.HasField("source_table"):
                    markers += tuple(_table_markers(item.source_table, metrics))
        rules.append(
            Rule(
                _text(message.identifier),
                _text(message.display_name),
                _text(message.section_identifier),
                tuple(texts),
                markers,
            )
        )
    return tuple(rules)


def _nvtx(message: Any, thread: int) -> tuple[NvtxPath, ...]:
    domains = {int(d.id): _text(d.name) for d in message.domains[:_MOST_STACKS]}
    paths = []
    for entry in message.threads[:_MOST_STACKS]:
        if int(entry.thread_id) != thread:
            continue
        for stack in entry.stacks[:_MOST_STACKS]:
            ranges = tuple(_text(r.name) or _UNNAMED for r in stack.ranges[:_MAX_NESTING])
            if ranges:
                paths.append(NvtxPath(domains.get(int(stack.domain), "<default domain>"), ranges))
    for entry in message.start_end[:_MOST_STACKS]:
        for open_range in entry.ranges[:_MOST_STACKS]:
            domain = domains.get(int(entry.domain), "<default domain>")
            paths.append(NvtxPath(domain, (_text(open_range.name) or _UNNAMED,)))
    return tuple(dict.fromkeys(paths))


def _dim(message: Any) -> tuple[int, int, int]:
    return (int(message.x) or 1, int(message.y) or 1, int(message.z) or 1)


def _some(messages: Sequence[Any], most: int, what: str, problems: list[str]) -> Sequence[Any]:
    """At most so many messages; a file of nothing but empty ones would take hours and all memory."""
    if len(messages) <= most:
        return messages
    problems.append(f"a result claims {len(messages):,} {what}; the first {most:,} are read")
    return messages[:most]


def _launch(
    index: int, message: Any, strings: Sequence[str], problems: list[str], process: int | None
) -> Launch:
    metrics = _metrics(_some(message.metrics, _MOST_METRICS, "metrics", problems), strings, problems)
    stack = tuple(
        CallFrame(_text(f.function), _text(f.module), int(f.line) if f.HasField("line") else None)
        for f in message.call_stack.frames[:_MOST_FRAMES]
    )
    return Launch(
        index=index,
        mangled=_text(message.mangled_name),
        function=_text(message.function_name),
        demangled=_text(message.demangled_name),
        grid=_dim(message.grid),
        block=_dim(message.block),
        context=int(message.context_id),
        stream=int(message.stream_id),
        thread=int(message.thread_id),
        process=process,
        metrics=metrics,
        rules=_rules(_some(message.rules, _MOST_RULES, "rules", problems), metrics),
        nvtx=_nvtx(message.nvtx, int(message.thread_id)) if message.HasField("nvtx") else (),
        call_stack=stack,
        source_reference=int(message.source.reference) if message.HasField("source") else None,
        sections=tuple(_some(message.sections, _MOST_SECTIONS, "sections", problems)),
    )


def _sources(messages: Iterable[Any]) -> Mapping[int, Source]:
    merged: dict[int, Source] = {}
    for message in messages:
        key = int(message.reference)
        revision = int(message.sm_revision)
        new = Source(
            key,
            bytes(message.cubin),
            f"sm_{revision >> 16}{revision & 0xFFFF}" if revision else None,
            tuple(FunctionAddress(_text(f.name), int(f.address)) for f in message.functions.functions),
            tuple(ImportedFile(_text(f.path), _text(f.text)) for f in message.imported.files),
        )
        old = merged.get(key)
        if old is not None:
            # Only one of several entries of a module carries the cubin.
            new = Source(
                key,
                new.cubin or old.cubin,
                new.arch or old.arch,
                new.functions or old.functions,
                new.files or old.files,
            )
        merged[key] = new
    return merged


def _session(headers: Iterable[Any]) -> Session:
    """Session details are spread over the blocks; the first value given wins."""
    found: dict[str, Any] = {}
    versions: dict[str, str] = {}
    devices: dict[int, dict[str, Value]] = {}
    for header in headers:
        if not header.HasField("session"):
            continue
        session = header.session
        candidates: dict[str, Any] = {
            "created": int(session.creation_time) or None,
            "host": _text(session.target.computer_name or session.host.computer_name) or None,
            "os": _text(session.target.os_name or session.host.os_name) or None,
            "executable": _text(session.executable.path) or None,
            "arguments": _text(session.executable.arguments) or None,
            "working_directory": _text(session.executable.cwd) or None,
            "environment": _text(session.executable.environment) or None,
            "command_line": _text(session.command_line) or None,
        }
        for key, value in candidates.items():
            if value is not None:
                found.setdefault(key, value)
        for version in session.versions:
            versions.setdefault(_text(version.provider), _text(version.version))
        for device in session.devices:
            attributes = devices.setdefault(int(device.id), {})
            if device.name:
                attributes.setdefault("name", _text(device.name))
            for attribute in device.attributes:
                attributes.setdefault(_text(attribute.name), _value(attribute.value))
    keys = ("created", "host", "os", "executable", "arguments", "working_directory", "environment")
    return Session(
        **{key: found.get(key) for key in (*keys, "command_line")}, versions=versions, devices=devices
    )


def decode_report(container: Container, name: str) -> Report:
    """Models of a whole container. What is missing is listed in :attr:`Report.problems`."""
    problems = [] if container.problem is None else [f"{container.problem}: what follows is missing"]
    if container.version != _VERSION:
        problems.append(f"the container's version is {container.version}, {_VERSION} is the known one")
    if container.ranges:
        problems.append(f"{container.ranges:,} results of ranges or graphs are not read")
    unknown = unknown_parts((container.headers, container.sources, container.results))
    if unknown is not None:
        problems.append(unknown)
    strings = [_text(raw) for raw in container.strings]
    processes: list[int | None] = []
    for header in container.headers:
        block: Any = header
        pid = int(block.process.process_id) if block.HasField("process") else None
        processes.extend([pid] * int(block.num_results))
    launches = tuple(
        _launch(i, message, strings, problems, processes[i] if i < len(processes) else None)
        for i, message in enumerate(container.results)
    )
    # One line a kind of problem is enough for a person.
    unique = tuple(dict.fromkeys(problems))
    return Report(
        name, container.version, launches, _sources(container.sources), _session(container.headers), unique
    )
