// A worker of Node's mongodb-cron, driven by a test: options in the first argument, events out as lines of JSON.
const { MongoClient } = require('mongodb');
const { MongoCron } = require('mongodb-cron');

const options = JSON.parse(process.argv[2]);
const say = (event) => process.stdout.write(JSON.stringify(event) + '\n');

async function main() {
  const client = await MongoClient.connect(options.url);
  const collection = client.db(options.database).collection('jobs');
  const cron = new MongoCron({
    collection,
    lockDuration: options.lock,
    idleDelay: options.idle,
    ...options.paths,
    onDocument: async (document) => {
      say({ begin: String(document._id) });
      if (options.handler) await new Promise((done) => setTimeout(done, options.handler));
      say({ end: String(document._id) });
    },
    onError: (error) => say({ error: String(error) }),
  });
  await cron.start();
  say({ ready: true });
}

main().catch((error) => { say({ fatal: String(error) }); process.exit(1); });
