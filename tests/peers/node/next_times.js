// What Node's mongodb-cron takes for the next time of each document, without a database: JSON in, JSON out.
const { MongoCron } = require('mongodb-cron');

const cron = new MongoCron({ collection: null });
const cases = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const answers = cases.map(({ interval, sleepUntil, repeatUntil }) => {
  const document = { interval, sleepUntil: new Date(sleepUntil) };
  if (repeatUntil) document.repeatUntil = new Date(repeatUntil);
  const next = cron.getNextStart(document);
  return next ? next.getTime() : null;
});
process.stdout.write(JSON.stringify(answers));
