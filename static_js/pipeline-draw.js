// Paints rows of blocks on a canvas the size of the viewport. Form tells a state, colour an output tile.

import { pipeLetter } from './pipeline-view.js';

/** @typedef {import('./pipeline-view.js').PipeRow} PipeDrawRow */

export const PIPE_ROW = 20;
export const PIPE_LEFT = 124;
const PIPE_AXIS = 22;

/** @param {PipeDrawRow[]} rows */
export function pipeHeight(rows) {
  return rows.length * PIPE_ROW + PIPE_AXIS;
}

/** The page's colours as they are now. @param {Element} element */
export function pipeColours(element) {
  const style = getComputedStyle(element);
  const get = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  return {
    tiles: ['--series-1', '--series-2', '--series-3', '--series-4'].map(get),
    fg: get('--fg'), muted: get('--muted'), panel: get('--panel'), border: get('--border'), wait: get('--state-waiting'), select: get('--select-edge'),
  };
}

/** @param {number} span @param {number} room */
export function pipeTick(span, room) {
  const least = (span / Math.max(1, room)) * 70;
  let tick = 1;
  for (const factor of [2, 2.5, 2]) void factor;
  while (tick < least) tick *= tick.toString()[0] === '2' ? 2.5 : 2;
  return Math.max(1, Math.round(tick));
}

/**
 * @param {CanvasRenderingContext2D} context already scaled to CSS pixels
 * @param {object} view
 * @param {number} view.width
 * @param {PipeDrawRow[]} view.rows
 * @param {number} view.from first time shown
 * @param {number} view.to
 * @param {{row: number, block: number} | null} view.selected
 * @param {{tile: number, step: number} | null} view.followed
 * @param {(number | null)[]} view.markers
 * @param {(block: import('./pipeline-view.js').PipeBlock) => boolean} view.lit blocks of the chosen source line
 * @param {ReturnType<typeof pipeColours>} colours
 */
export function pipeDraw(context, view, colours) {
  const { width, rows, from, to } = view;
  const height = pipeHeight(rows);
  context.clearRect(0, 0, width, height);
  const scale = (width - PIPE_LEFT) / Math.max(1, to - from);
  context.textBaseline = 'middle';
  for (let number = 0; number < rows.length; number++) {
    const row = rows[number];
    const y = number * PIPE_ROW;
    context.font = '12px system-ui, sans-serif';
    context.fillStyle = colours.fg;
    context.textAlign = 'right';
    context.fillText(row.name.slice(0, 18), PIPE_LEFT - 6, y + PIPE_ROW / 2);
    if (number && rows[number - 1].kind !== row.kind) {
      context.fillStyle = colours.border;
      context.fillRect(0, y, width, 1);
    }
    context.textAlign = 'center';
    context.font = '10px ui-monospace, monospace';
    pipeDrawRow(context, row, number, { ...view, y, scale }, colours);
  }
  pipeAxis(context, view, scale, height, colours);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {PipeDrawRow} row
 * @param {number} number
 * @param {any} view
 * @param {ReturnType<typeof pipeColours>} colours
 */
function pipeDrawRow(context, row, number, view, colours) {
  const { y, scale, from, to, selected, followed } = view;
  let last = -1;
  for (let i = 0; i < row.blocks.length; i++) {
    const block = row.blocks[i];
    if (block.end <= from || block.start >= to) continue;
    const x = PIPE_LEFT + (Math.max(block.start, from) - from) * scale;
    const right = PIPE_LEFT + (Math.min(block.end, to) - from) * scale;
    // Blocks thinner than a pixel are drawn once a pixel.
    if (right - x < 0.6 && Math.floor(x) === last) continue;
    last = Math.floor(x);
    const wide = Math.max(0.6, right - x - (right - x > 3 ? 0.7 : 0));
    context.fillStyle = context.strokeStyle = block.tile >= 0 ? colours.tiles[block.tile % 4] : colours.muted;
    pipeShape(context, block.kind, x, y, wide, colours);
    const text = block.kind === 'wait' ? '' : pipeLetter(block.tile, block.step);
    if (text && wide > 6.5 * text.length + 2) {
      const solid = block.kind === 'mma' || block.kind === 'consuming' || block.kind === 'issue';
      context.fillStyle = solid ? colours.panel : colours.fg;
      context.fillText(text, x + wide / 2, y + PIPE_ROW / 2 + 0.5);
    }
    const on = followed && block.tile === followed.tile && block.step === followed.step && block.kind !== 'wait';
    const chosen = selected && selected.row === number && selected.block === i;
    if (on || chosen || view.lit(block)) {
      context.strokeStyle = chosen ? colours.fg : colours.select;
      context.lineWidth = chosen ? 2 : 1.5;
      context.strokeRect(x + 0.5, y + 1.5, Math.max(1, wide - 1), PIPE_ROW - 3);
      context.lineWidth = 1;
    }
  }
}

/** @param {CanvasRenderingContext2D} context @param {string} kind @param {number} x @param {number} y @param {number} wide @param {ReturnType<typeof pipeColours>} colours */
function pipeShape(context, kind, x, y, wide, colours) {
  const [top, tall] = [y + 3, PIPE_ROW - 6];
  if (kind === 'wait') {
    context.fillStyle = colours.wait;
    context.fillRect(x, y + PIPE_ROW / 2 - 2, wide, 4);
  } else if (kind === 'filling') {
    context.globalAlpha = 0.4;
    context.fillRect(x, top + tall / 2, wide, tall / 2);
    context.globalAlpha = 1;
  } else if (kind === 'full') context.strokeRect(x + 0.5, top + 0.5, Math.max(0.5, wide - 1), tall - 1);
  else if (kind === 'held') {
    context.setLineDash([2, 2]);
    context.strokeRect(x + 0.5, top + 0.5, Math.max(0.5, wide - 1), tall - 1);
    context.setLineDash([]);
  } else if (kind === 'epilogue' || kind === 'softmax' || kind === 'promote' || kind === 'scale') {
    context.globalAlpha = 0.45;
    context.fillRect(x, top, wide, tall);
    context.globalAlpha = 1;
    context.fillRect(x, top, wide, 2);
  } else context.fillRect(x, top, wide, tall);
}

/** @param {CanvasRenderingContext2D} context @param {any} view @param {number} scale @param {number} height @param {ReturnType<typeof pipeColours>} colours */
function pipeAxis(context, view, scale, height, colours) {
  const { from, to, width, markers } = view;
  context.font = '11px system-ui, sans-serif';
  context.textAlign = 'center';
  context.fillStyle = colours.muted;
  const tick = pipeTick(to - from, width - PIPE_LEFT);
  for (let time = Math.ceil(from / tick) * tick; time <= to; time += tick) {
    const x = PIPE_LEFT + (time - from) * scale;
    context.fillRect(x, height - PIPE_AXIS, 1, 4);
    context.fillText(String(time), Math.min(x, width - 12), height - 9);
  }
  markers.forEach((/** @type {number | null} */ time, /** @type {number} */ number) => {
    if (time === null || time < from || time > to) return;
    const x = PIPE_LEFT + (time - from) * scale;
    context.fillStyle = colours.select;
    context.fillRect(x - 0.5, 0, 1.5, height - PIPE_AXIS);
    context.fillText('AB'[number], x + 7, 8);
  });
}
