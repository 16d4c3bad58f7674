// A small AMQP 1.0 broker with Service Bus's manners: a node $cbs that checks signed tokens, queues that exist or do
// not, and nobody sends without a claim. What it accepted is in a file before it says so, so that it can be killed.
//
// Usage: node broker.js '{"port": …, "tlsPort": …, "cert": …, "key": …, "file": …, "entities": […], "keys": {…}}'
const crypto = require('crypto');
const fs = require('fs');
const rhea = require('rhea');

const options = JSON.parse(process.argv[2]);
const container = rhea.create_container({ id: 'broker' });
const log = (line) => fs.writeSync(1, JSON.stringify(line) + '\n');

function claimed(token, audience) {
  const fields = Object.fromEntries(token.replace('SharedAccessSignature ', '').split('&').map((pair) => {
    const at = pair.indexOf('=');
    return [pair.slice(0, at), pair.slice(at + 1)];
  }));
  const key = options.keys[decodeURIComponent(fields.skn)];
  if (!key || Number(fields.se) < Date.now() / 1000) return false;
  const expected = crypto.createHmac('sha256', key).update(`${fields.sr}\n${fields.se}`).digest('base64');
  const resource = decodeURIComponent(fields.sr).replace(/\/$/, '');
  return expected === decodeURIComponent(fields.sig) && audience.toLowerCase().startsWith(resource);
}

const entityOf = (audience) => audience.replace(/^\w+:\/\/[^/]*\//, '');
const stored = () => {
  if (!fs.existsSync(options.file)) return [];
  return fs.readFileSync(options.file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
};

// A link is answered with both of its ends; Azure's client gives it up otherwise.
const mirror = (link) => {
  link.set_source({ address: link.source && link.source.address });
  link.set_target({ address: link.target && link.target.address });
};

container.on('connection_open', (context) => {
  context.connection.claims = new Set();
  log({ event: 'connection' });
});
// Clients come and go as they like.
for (const event of ['connection_error', 'session_error', 'receiver_error', 'sender_error', 'error', 'disconnected']) {
  container.on(event, () => {});
}
container.on('connection_open', ({ connection }) => connection.socket.once('close', () => log({ event: 'gone' })));
container.on('receiver_open', ({ receiver, connection }) => {
  const address = receiver.target.address;
  mirror(receiver);
  if (address === '$cbs') return;
  if (!options.entities.includes(address)) {
    receiver.close({ condition: 'amqp:not-found', description: `The messaging entity '${address}' could not be found.` });
  } else if (!connection.claims.has(address)) {
    receiver.close({ condition: 'amqp:unauthorized-access', description: `Unauthorized access. 'Send' claim required.` });
  }
});
container.on('sender_open', ({ sender, connection }) => {
  mirror(sender);
  if (sender.source.address === '$cbs') connection.reply = sender;
});
// Who reads gets everything there is, once.
container.on('sender_flow', ({ sender }) => {
  if (sender.source.address === '$cbs' || sender.served) return;
  sender.served = true;
  for (const { address, raw } of stored()) {
    if (address === entityOf(sender.source.address)) sender.send(Buffer.from(raw, 'base64'), undefined, 0);
  }
});
container.on('message', ({ message, receiver, delivery, connection }) => {
  const address = receiver.target.address;
  if (address === '$cbs') {
    const audience = message.application_properties.name;
    const good = claimed(String(message.body), audience);
    if (good) connection.claims.add(entityOf(audience));
    log({ event: 'token', good, audience });
    delivery.accept();
    connection.reply.send({
      correlation_id: message.message_id,
      application_properties: good
        ? { 'status-code': 202, 'status-description': 'Accepted' }
        : { 'status-code': 401, 'status-description': 'InvalidSignature: The token has an invalid signature.' },
      body: null,
    });
    return;
  }
  if (message.subject === 'busy') {
    delivery.reject({ condition: 'com.microsoft:server-busy', description: 'The service was too busy.' });
    return;
  }
  const raw = rhea.message.encode(message).toString('base64');
  fs.appendFileSync(options.file, JSON.stringify({ address, id: message.message_id, raw }) + '\n');
  delivery.accept();
});

const common = { receiver_options: { autoaccept: false, max_message_size: 65536 } };
container.listen({ port: options.port, host: '127.0.0.1', ...common });
const tls = { cert: fs.readFileSync(options.cert), key: fs.readFileSync(options.key) };
container
  .listen({ port: options.tlsPort, host: '127.0.0.1', transport: 'tls', ...tls, ...common })
  .on('listening', () => log({ event: 'ready' }));
