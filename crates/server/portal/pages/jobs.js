// All jobs.

import { h, fill } from '../dom.js';
import { head } from '../parts/basics.js';
import { jobTable } from '../parts/job-table.js';

export function show(place) {
  const list = h('div', {});
  fill(place, head('Jobs'), list);
  const { leave } = jobTable(list);
  return { title: 'Jobs', leave };
}
