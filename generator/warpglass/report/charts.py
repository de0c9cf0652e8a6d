"""The chart library as the page carries it: Plotly from its Python package, compressed."""

from __future__ import annotations

import base64
from functools import cache
from importlib import resources

from markupsafe import Markup

from warpglass.errors import ToolchainError
from warpglass.report.pack import gzip_bytes

__all__ = ["packed_plotly"]


@cache
def packed_plotly() -> Markup:
    """Base64 of the gzipped library; about 1.96 MB. Raises ToolchainError where the package lacks it."""
    try:
        code = resources.files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
    except (ModuleNotFoundError, FileNotFoundError) as error:
        raise ToolchainError(
            "the plotly package is not installed whole", hint="pip install plotly, or --charts static"
        ) from error
    return Markup(base64.b64encode(gzip_bytes(code)).decode("ascii"))  # noqa: S704 - base64 alphabet only
