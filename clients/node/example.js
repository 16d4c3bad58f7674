const SchedulerManagementClient = require('azure-arm-scheduler');
const { TokenCredentials } = require('ms-rest');

function connect(url, subscription) {
  return new SchedulerManagementClient(new TokenCredentials('any'), subscription, url);
}

async function firstJob(client, target) {
  await client.jobCollections.createOrUpdate('group', 'first', { location: 'westus' });
  const job = { properties: { action: { type: 'Http', request: { method: 'GET', uri: target } } } };
  return client.jobs.createOrUpdate('group', 'first', 'hello', job);
}

module.exports = { connect, firstJob };
