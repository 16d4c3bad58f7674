// Reads messages from an AMQP 1.0 broker and prints each as a line of JSON.
//
// Usage: node receive.js PORT USER PASSWORD ADDRESS COUNT
const rhea = require('rhea');

const [port, username, password, address, count] = process.argv.slice(2);
const container = rhea.create_container();
const connection = container.connect({ port: Number(port), host: '127.0.0.1', username, password, reconnect: false });
let read = 0;
container.on('receiver_open', () => console.log(JSON.stringify({ ready: true })));
container.on('message', ({ message }) => {
  const body = message.body && message.body.content ? message.body.content.toString() : message.body;
  console.log(JSON.stringify({ ...message, body }));
  read += 1;
  if (read >= Number(count)) connection.close();
});
for (const wrong of ['connection_error', 'receiver_error', 'disconnected']) {
  container.on(wrong, (context) => {
    if (read < Number(count)) {
      console.error(wrong, String(context.error || (context.receiver && context.receiver.error)));
      process.exit(1);
    }
  });
}
connection.open_receiver({ source: { address, durable: 0 }, credit_window: 100 });
