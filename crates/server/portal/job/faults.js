// Faults of the API, at the fields that they speak of.

/** Takes faults away; all, or those whose path is meant. */
export function clearFaults(form, isMeant = () => true) {
  for (const element of form.querySelectorAll('[data-path].faulty')) {
    if (!isMeant(element.dataset.path)) continue;
    element.classList.remove('faulty');
    const place = placeOf(element);
    if (place) place.hidden = true;
    element.querySelector('[aria-invalid]')?.removeAttribute('aria-invalid');
  }
}

/** Shows each fault at the nearest field; `placed` is how many found one. With `focus` the first is gone to. */
export function showFaults(form, details, { focus = false } = {}) {
  const fields = [...form.querySelectorAll('[data-path]')];
  let placed = 0;
  for (const { target = '', message } of details) {
    // Jobs have their members below `properties`; faults of their recurrence may leave that out.
    const wanted = [target, `properties.${target}`];
    const isMeant = ({ dataset: { path } }) =>
      wanted.some((name) => name === path || name.startsWith(`${path}.`) || name.startsWith(`${path}[`));
    const fits = fields.filter(isMeant);
    const best = fits.sort((a, b) => b.dataset.path.length - a.dataset.path.length)[0];
    const place = best && placeOf(best);
    if (!place) continue;
    const isFirst = placed === 0;
    placed += 1;
    place.textContent = best.classList.contains('faulty') ? `${place.textContent} ${message}` : message;
    place.hidden = false;
    best.classList.add('faulty');
    const input = best.querySelector('input, select, textarea');
    input?.setAttribute('aria-invalid', 'true');
    if (focus && isFirst) input?.focus();
  }
  return { placed };
}

function placeOf(element) {
  return [...element.children].find((child) => child.classList.contains('fault'));
}
