// Parses forms with Node's fetch implementation.
//
//     node form_peer.mjs PORT
//
// POST /      -> {"node": [part, ...]}, where a part is
//                {"name": TEXT, "filename": TEXT or null, "type": TEXT or null, "content": HEX}

import { createServer } from "node:http";

async function parts(body, type) {
  const form = await new Response(body, { headers: { "Content-Type": type } }).formData();
  return Promise.all(
    [...form].map(async ([name, value]) => {
      const isField = typeof value === "string";
      const content = isField ? Buffer.from(value, "utf8") : Buffer.from(await value.arrayBuffer());
      const [filename, type] = isField ? [null, null] : [value.name, value.type];
      return { name, filename, type, content: content.toString("hex") };
    }),
  );
}

const server = createServer(async (request, response) => {
  try {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const answer = { node: await parts(Buffer.concat(chunks), request.headers["content-type"]) };
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(answer));
  } catch (error) {
    response.writeHead(400).end(String(error));
  }
});
server.listen(Number(process.argv[2]), "127.0.0.1");
