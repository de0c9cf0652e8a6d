// Reads {program, settings: [knobs]} as JSON from stdin; writes for each setting what the simulator makes of it.
// tests/pipeline/test_javascript.py compares it with the Python simulator.

import { readFileSync } from 'node:fs';
import { PIPE_EVENT, pipeRun } from '../../static_js/pipeline-core.js';
import { pipeCritical, pipeSummary, pipeStages } from '../../static_js/pipeline-results.js';

const { programs, settings } = JSON.parse(readFileSync(0, 'utf8'));
for (const [number, knobs, whole] of settings) {
  const program = programs[number];
  try {
    const run = pipeRun(program, knobs);
    let hash = 0;
    for (const value of run.events) hash = (Math.imul(hash, 31) + value) | 0;
    const answer = { total: run.total, events: run.events.length / PIPE_EVENT, hash, stuck: run.stuck, fault: run.fault };
    const more = { list: run.events, summary: pipeSummary(run, program), rows: pipeStages(run), critical: pipeCritical(run) };
    console.log(JSON.stringify(whole ? { ...answer, ...more } : answer));
  } catch (error) {
    console.log(JSON.stringify({ error: String(error) }));
  }
}
