// Draws the charts of a report from the numbers in the page, with Chart.js. Colours follow the
// page's theme; arrow keys walk over the values of the chart that has the focus.
(() => {
  'use strict';
  const root = document.documentElement;
  const specs = JSON.parse(document.getElementById('chart-data').textContent);
  const spoken = document.getElementById('spoken');
  const narrow = 560;
  let drawn = [];

  const colour = (name) => getComputedStyle(root).getPropertyValue('--' + name).trim();
  const tone = (series, index) =>
    colour(series.tone || 'series-' + ((index % 8) + 1)) || colour('series-1');
  const faded = (hex, share) => hex + Math.round(share * 255).toString(16).padStart(2, '0');

  const number = (value) => {
    if (value === null || !Number.isFinite(value)) return '-';
    const size = Math.abs(value);
    const options = size >= 1e5 || (size > 0 && size < 1e-3)
      ? {notation: size >= 1e5 ? 'compact' : 'scientific', maximumSignificantDigits: 4}
      : {maximumSignificantDigits: size >= 1000 ? 5 : 4};
    return new Intl.NumberFormat('en-US', options).format(value);
  };

  // A label in lines of at most so many characters.
  const wrapped = (text, width) => {
    const lines = [''];
    for (const word of String(text).split(' ')) {
      const last = lines[lines.length - 1];
      if (last && last.length + 1 + word.length > width) lines.push(word);
      else lines[lines.length - 1] = last ? last + ' ' + word : word;
    }
    return lines.length === 1 ? lines[0] : lines;
  };

  const ranged = (spec) => spec.kind === 'bars' || spec.kind === 'columns' || spec.kind === 'points';

  // What a value says, for tooltips and for screen readers.
  const said = (spec, dataset, index) => {
    const series = spec.series[dataset];
    const name = series.name ? series.name + ': ' : '';
    const label = series.labels.length ? series.labels[index] : '';
    if (spec.kind === 'spans') {
      const from = number(series.low[index]), to = number(series.high[index]);
      return label ? name + label : `${name}${from} to ${to} ${spec.values.label}`;
    }
    let text = `${name}${label ? label + ': ' : ''}`;
    if (spec.kind === 'lines' || spec.kind === 'points')
      text += `${number(series.x[index])} ${spec.along.label}, `;
    text += `${number(series.y[index])} ${spec.values.label}`;
    if (series.low.length) text += ` (${number(series.low[index])} to ${number(series.high[index])})`;
    return text;
  };

  const decorations = (spec) => ({
    id: 'decorations',
    // Bands of uncertainty, under the lines.
    beforeDatasetsDraw(chart) {
      if (spec.kind !== 'lines') return;
      const {ctx, scales, chartArea: area} = chart;
      ctx.save();
      ctx.beginPath();
      ctx.rect(area.left, area.top, area.right - area.left, area.bottom - area.top);
      ctx.clip();
      spec.series.forEach((series, index) => {
        if (!series.low.length || !chart.isDatasetVisible(index)) return;
        ctx.beginPath();
        series.x.forEach((x, i) =>
          ctx.lineTo(scales.x.getPixelForValue(x), scales.y.getPixelForValue(series.high[i])));
        for (let i = series.x.length - 1; i >= 0; --i)
          ctx.lineTo(scales.x.getPixelForValue(series.x[i]), scales.y.getPixelForValue(series.low[i]));
        ctx.closePath();
        ctx.fillStyle = faded(tone(series, index), 0.18);
        ctx.fill();
      });
      ctx.restore();
    },
    // Whiskers and markers, over everything.
    afterDatasetsDraw(chart) {
      const {ctx, scales, chartArea: area} = chart;
      const lying = spec.kind === 'bars' || spec.kind === 'spans';
      const scale = lying ? scales.x : scales.y;
      ctx.save();
      if (ranged(spec)) {
        spec.series.forEach((series, index) => {
          if (!series.low.length || !chart.isDatasetVisible(index)) return;
          ctx.strokeStyle = colour('ink');
          ctx.lineWidth = 1.5;
          chart.getDatasetMeta(index).data.forEach((element, i) => {
            if (series.low[i] === null || series.low[i] === series.high[i]) return;
            const low = scale.getPixelForValue(series.low[i]);
            const high = scale.getPixelForValue(series.high[i]);
            const centre = lying ? element.y : element.x, cap = 5;
            const line = (a, b, c, d) => {
              ctx.beginPath();
              if (lying) { ctx.moveTo(a, b); ctx.lineTo(c, d); } else { ctx.moveTo(b, a); ctx.lineTo(d, c); }
              ctx.stroke();
            };
            line(low, centre, high, centre);
            line(low, centre - cap, low, centre + cap);
            line(high, centre - cap, high, centre + cap);
          });
        });
      }
      ctx.font = `12px ${Chart.defaults.font.family}`;
      if (spec.kind === 'points' && chart.isDatasetVisible(0)) {
        ctx.fillStyle = colour('ink');
        ctx.textBaseline = 'bottom';
        chart.getDatasetMeta(0).data.forEach((element, i) => {
          const label = spec.series[0].labels[i] || '', wide = ctx.measureText(label).width;
          const left = Math.min(Math.max(element.x - wide / 2, area.left + 2), area.right - wide);
          ctx.fillText(label, left, element.y - 8);
        });
      }
      spec.markers.forEach((marker) => {
        const at = scale.getPixelForValue(marker.value);
        if (!(at >= (lying ? area.left : area.top) - 1 && at <= (lying ? area.right : area.bottom) + 1)) return;
        ctx.strokeStyle = ctx.fillStyle = colour('ink');
        ctx.setLineDash([5, 4]);
        ctx.lineWidth = 1.5;
        ctx.beginPath();
        if (lying) { ctx.moveTo(at, area.top); ctx.lineTo(at, area.bottom); }
        else { ctx.moveTo(area.left, at); ctx.lineTo(area.right, at); }
        ctx.stroke();
        ctx.setLineDash([]);
        const width = ctx.measureText(marker.label).width;
        if (lying) {
          const left = Math.min(Math.max(at - width / 2, area.left), chart.width - width - 2);
          ctx.textBaseline = 'bottom';
          ctx.fillText(marker.label, left, area.top - 3);
        } else {
          ctx.textBaseline = 'bottom';
          ctx.fillText(marker.label, area.right - width - 4, at - 3);
        }
      });
      ctx.restore();
    },
  });

  const dataset = (spec, series, index) => {
    const fill = tone(series, index);
    const common = {label: series.name, backgroundColor: fill, borderColor: fill};
    switch (spec.kind) {
      case 'spans': {
        // Ends of a tornado may lie on one side: each has its half of the row.
        return {...common, grouped: spec.markers.length > 0, borderWidth: 0, barPercentage: spec.markers.length ? 1 : 0.85,
          categoryPercentage: spec.markers.length ? 0.75 : 0.9,
          data: series.x.map((lane, i) => ({x: [series.low[i], series.high[i]], y: spec.categories[lane]}))};
      }
      case 'lines':
        return {...common, borderWidth: 2, pointRadius: series.x.length > 24 ? 0 : 3, pointHitRadius: 10,
          tension: 0, data: series.x.map((x, i) => ({x, y: series.y[i]}))};
      case 'points':
        // The first series is the front: joined, and labelled below.
        return {...common, pointRadius: 6, pointHoverRadius: 8, pointBorderColor: colour('paper'),
          borderWidth: index ? 0 : 1.5, showLine: !index,
          data: series.x.map((x, i) => ({x, y: series.y[i]}))};
      default:
        return {...common, borderWidth: 0, maxBarThickness: 30, barPercentage: 0.82, categoryPercentage: 0.86,
          stack: spec.stacked ? 'all' : undefined, data: series.y};
    }
  };

  const config = (spec, width) => {
    const lying = spec.kind === 'bars' || spec.kind === 'spans';
    const byNumber = spec.kind === 'lines' || spec.kind === 'points';
    const ink = colour('soft'), grid = colour('grid');
    const axis = (settings) => ({
      type: settings.logarithmic ? 'logarithmic' : 'linear',
      title: {display: !!settings.label, text: settings.label, color: ink},
      min: settings.least === null ? undefined : settings.least,
      max: settings.most === null ? undefined : settings.most,
      ticks: {color: ink, maxRotation: 0, autoSkipPadding: 14, callback(value) {
        // Of a logarithmic axis 1, 3, 10, 30, ...
        const digit = value > 0 ? Math.round(value / 10 ** Math.floor(Math.log10(value) + 1e-9)) : 0;
        return settings.logarithmic && digit !== 1 && digit !== 3 ? '' : number(value);
      }},
      grid: {color: grid, borderColor: grid},
    });
    const categories = {
      type: 'category', labels: spec.categories, offset: true, stacked: spec.stacked,
      ticks: {color: colour('ink'), font: {size: width < narrow ? 11 : 12}, autoSkip: spec.categories.length > 24, maxRotation: lying ? 0 : 50,
        callback(value) {
          return wrapped(this.getLabelForValue(value), lying ? (width < narrow ? 20 : 46) : 14);
        }},
      grid: {display: false, borderColor: grid},
    };
    const values = {...axis(spec.values), stacked: spec.stacked};
    const highs = spec.kind === 'spans' ? [] : spec.series.flatMap((series) => series.high);
    if (highs.length) {
      values.suggestedMax = Math.max(...highs);
      values.suggestedMin = Math.min(...spec.series.flatMap((series) => series.low));
    }
    // What is marked is seen, with some air behind it.
    if (spec.kind !== 'spans' && spec.markers.length) {
      const furthest = 1.03 * Math.max(...spec.markers.map((marker) => marker.value));
      values.suggestedMax = Math.max(values.suggestedMax ?? furthest, furthest);
    }
    if (!byNumber) values.beginAtZero = spec.values.least === null;
    const several = spec.series.filter((series) => series.name).length > 1;
    return {
      type: spec.kind === 'lines' ? 'line' : spec.kind === 'points' ? 'scatter' : 'bar',
      data: {labels: byNumber ? undefined : spec.categories,
        datasets: spec.series.map((series, index) => dataset(spec, series, index))},
      options: {
        animation: false, responsive: true, maintainAspectRatio: false,
        devicePixelRatio: Math.max(2, window.devicePixelRatio || 1),
        indexAxis: lying ? 'y' : 'x',
        layout: {padding: {top: spec.kind === 'points' || lying && spec.markers.length ? 18 : 4, right: 12}},
        scales: lying ? {x: values, y: categories}
          : {x: byNumber ? axis(spec.along) : categories, y: values},
        plugins: {
          legend: {display: several, position: 'bottom', labels: {color: colour('ink'), boxWidth: 12, boxHeight: 12}},
          tooltip: {callbacks: {
            title: (items) => (byNumber || !items.length ? '' : items[0].label),
            label: (item) => wrapped(said(spec, item.datasetIndex, item.dataIndex), 60),
          }},
        },
      },
      plugins: [decorations(spec)],
    };
  };

  const draw = () => {
    drawn.forEach((chart) => chart.destroy());
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    drawn = specs.map((spec, index) => {
      const canvas = document.getElementById('chart-' + (index + 1));
      return new Chart(canvas, config(spec, canvas.parentElement.clientWidth));
    });
  };

  // Arrow keys walk over the values; the tooltip shows and the screen reader says each.
  const walk = (event) => {
    const index = specs.findIndex((_, i) => event.target.id === 'chart-' + (i + 1));
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (index < 0 || !step && event.key !== 'Escape') return;
    event.preventDefault();
    const chart = drawn[index], spec = specs[index];
    const all = chart.data.datasets.flatMap((set, datasetIndex) =>
      set.data.map((value, at) => ({datasetIndex, index: at})).filter((one) =>
        chart.isDatasetVisible(one.datasetIndex) && set.data[one.index] !== null));
    chart.walked = step ? ((chart.walked ?? (step > 0 ? -1 : 0)) + step + all.length) % all.length : undefined;
    const active = chart.walked === undefined ? [] : [all[chart.walked]];
    chart.setActiveElements(active);
    chart.tooltip.setActiveElements(active, {x: 0, y: 0});
    chart.update();
    if (!active.length) return;
    const {datasetIndex, index: at} = active[0];
    const category = spec.kind === 'bars' || spec.kind === 'columns' ? spec.categories[at] + ', '
      : spec.kind === 'spans' ? spec.categories[spec.series[datasetIndex].x[at]] + ', ' : '';
    spoken.textContent = category + said(spec, datasetIndex, at);
  };

  // On paper everything is unfolded and light.
  let unfolded = [];
  const beforePrint = () => {
    if (root.hasAttribute('data-print')) return;
    root.setAttribute('data-print', '');
    unfolded = [...document.querySelectorAll('details:not([open])')];
    unfolded.forEach((one) => { one.open = true; });
    draw();
  };
  const afterPrint = () => {
    root.removeAttribute('data-print');
    unfolded.forEach((one) => { one.open = false; });
    draw();
  };

  draw();
  document.addEventListener('keydown', walk);
  window.addEventListener('beforeprint', beforePrint);
  window.addEventListener('afterprint', afterPrint);
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  let last = window.innerWidth;
  window.addEventListener('resize', () => {
    // Labels are wrapped for the width.
    if ((last < narrow) !== (window.innerWidth < narrow)) draw();
    last = window.innerWidth;
  });
})();
