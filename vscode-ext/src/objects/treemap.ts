/** The layout of a treemap: squarified (Bruls, Huizing, van Wijk). Pure. */

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** How far from square the worst of a row of these areas is, if it lies along a side of this length. */
function worst(areas: readonly number[], sum: number, side: number): number {
  const largest = Math.max(...areas), smallest = Math.min(...areas);
  return Math.max((side * side * largest) / (sum * sum), (sum * sum) / (side * side * smallest));
}

/** One box a value, in their order; values are positive, largest first. Their areas are in proportion and fill `room`. */
export function squarify(values: readonly number[], room: Box): Box[] {
  const total = values.reduce((sum, value) => sum + value, 0);
  const areas = values.map((value) => (value / total) * room.width * room.height);
  const boxes: Box[] = [];
  let free = {...room};
  for (let from = 0; from < areas.length;) {
    const side = Math.min(free.width, free.height);
    const row = [areas[from] ?? 0];
    let sum = row[0] ?? 0;
    let next = from + 1;
    for (; next < areas.length; next++) {
      const area = areas[next] ?? 0;
      if (worst([...row, area], sum + area, side) > worst(row, sum, side)) break;
      row.push(area);
      sum += area;
    }
    free = place(row, sum, free, boxes);
    from = next;
  }
  return boxes;
}

/** Lays a row along the shorter side, and gives what is left. */
function place(row: readonly number[], sum: number, free: Box, boxes: Box[]): Box {
  const {x, y, width, height} = free;
  const upright = height <= width;
  const side = upright ? height : width;
  const depth = side > 0 ? sum / side : 0;
  let at = upright ? y : x;
  for (const area of row) {
    const length = depth > 0 ? area / depth : 0;
    boxes.push(upright ? {x, y: at, width: depth, height: length} : {x: at, y, width: length, height: depth});
    at += length;
  }
  return upright ? {x: x + depth, y, width: width - depth, height} : {x, y: y + depth, width, height: height - depth};
}
