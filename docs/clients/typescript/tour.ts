// A tour of every area with the client that is generated from docs/openapi.json: it lists, pages through, creates, changes,
// handles refusals by their codes, and verifies a webhook. It works on the business that FORECOURT_TOKEN belongs to and
// removes what it made, so run it against a demo:
//
//     FORECOURT_URL=http://127.0.0.1:8080 FORECOURT_TOKEN=... npm run tour
//
// For the webhook it listens on this machine; the server must have been started with
// FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS=true, since deliveries otherwise go to public addresses alone.
import assert from "node:assert/strict";
import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

import createClient from "openapi-fetch";

import type { components, paths, webhooks } from "./forecourt.js";

type Schemas = components["schemas"];
type Refusal = Schemas["Error"];

const TOKEN = environment("FORECOURT_TOKEN");
const api = createClient<paths>({
  baseUrl: environment("FORECOURT_URL"),
  // Strict handling turns a misspelt name into a refusal that names the nearest known one.
  headers: { Authorization: `Bearer ${TOKEN}`, Prefer: "handling=strict" },
});

function environment(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
}

/** A request that was refused. Branch on `code`: it is stable, the message is for people. */
class Refused extends Error {
  readonly code: string;

  constructor(
    readonly status: number,
    readonly refusal: Refusal,
  ) {
    super(`${refusal.code}: ${refusal.message} (${refusal.details.help})`);
    this.code = refusal.code;
  }
}

/** What the client makes of an answer. */
type Answer<T> = { data?: T; error?: Schemas["ErrorEnvelope"]; response: Response };

/** What an answer says, or a `Refused`. */
async function said<T>(asked: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await asked;
  if (error !== undefined) throw new Refused(response.status, error.error);
  if (data === undefined) throw new Error(`an answer with status ${response.status} has no body`);
  return data;
}

/** The code and the details of the refusal that a request must meet. */
async function refusal(asked: Promise<Answer<unknown>>): Promise<Refusal> {
  try {
    await said(asked);
  } catch (error) {
    if (error instanceof Refused) return error.refusal;
    throw error;
  }
  return assert.fail("the request was expected to be refused");
}

type Page<T> = { data: T[]; meta: Schemas["PageMeta"] };

/** The records of all pages. An empty cursor begins; the last page's `next_cursor` is null. */
async function* walk<T>(page: (cursor: string) => Promise<Page<T>>): AsyncGenerator<T> {
  for (let cursor: string | null | undefined = ""; typeof cursor === "string"; ) {
    const { data, meta } = await page(cursor);
    yield* data;
    cursor = meta.pagination.next_cursor;
  }
}

/** Pages through a list, at most a hundred records of it, and checks that none comes twice. */
async function ids(page: (cursor: string) => Promise<Page<{ id: number }>>): Promise<Set<number>> {
  const seen = new Set<number>();
  for await (const { id } of walk(page)) {
    assert(!seen.has(id), `record ${id} is on two pages`);
    seen.add(id);
    if (seen.size === 100) break;
  }
  return seen;
}

/** A header for `If-Match`, from a record's version. */
const at = ({ version }: { version: number }) => ({ "If-Match": `"${version}"` });
/** A retry with the same key is answered with the first answer, and makes nothing twice. */
const once_only = () => ({ "Idempotency-Key": randomUUID() });

/** Changes a record as it is now: who changes it in between, as the rating of leads does, makes this read it again. */
async function change<T>(
  read: () => Promise<{ version: number }>,
  write: (header: { "If-Match": string }) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    const header = at(await read());
    try {
      return await write(header);
    } catch (error) {
      if (!(error instanceof Refused && error.code === "precondition_failed") || attempt === 5) throw error;
    }
  }
}

/** The full form, which single reads answer with unless `view=simple` is in the query. */
function full<T extends { version: number }>(record: T | object): T {
  assert("version" in record, "the full view has a version");
  return record as T;
}

async function leads(): Promise<void> {
  const body: Schemas["LeadBody"] = {
    name: "Tess Tour",
    email: "tess@example.com",
    type: ["test_drive"],
    data: { message: "Is it sold?" },
  };
  const sent = { params: { header: once_only() }, body };
  const { data: lead } = await said(api.POST("/2.0/leads", sent));
  const { data: again } = await said(api.POST("/2.0/leads", sent));
  assert.equal(again.id, lead.id, "the key made the second request a retry");

  const listed = await ids((cursor) =>
    said(api.GET("/2.0/leads", { params: { query: { status: "new", per_page: 5, cursor } } })),
  );
  assert(listed.has(lead.id));
  // A range has two bounds, and an empty one is open.
  const recent = await said(
    api.GET("/2.0/leads", { params: { query: { "created[]": [lead.created, ""], name: "Tess Tour" } } }),
  );
  assert(recent.data.some(({ id }) => id === lead.id));

  const path = { id: lead.id };
  const changed = await change(
    async () => full<Schemas["Lead"]>((await said(api.GET("/2.0/leads/{id}", { params: { path } }))).data),
    (header) =>
      said(api.PATCH("/2.0/leads/{id}", { params: { path, header }, body: { data: { message: "Is it still there?" } } })),
  );
  assert(changed.data.version > lead.version);
  const late = await refusal(api.PATCH("/2.0/leads/{id}", { params: { path, header: at(lead) }, body: { name: "Late" } }));
  assert.equal(late.code, "precondition_failed");
  assert(Number(late.details["version"]) > lead.version);

  await said(api.POST("/2.0/leads/{id}/notes", { params: { path }, body: { note: "Called back." } }));
  const notes = await said(api.GET("/2.0/leads/{id}/notes", { params: { path } }));
  assert.deepEqual(notes.data.map(({ note }) => note), ["Called back."]);

  const adf =
    '<?adf version="1.0"?><adf><prospect><customer><contact><name part="full">Al Form</name></contact></customer></prospect></adf>';
  const imported = await said(
    api.POST("/2.0/leads/adf", {
      body: adf,
      // This body is XML, and goes out as it is.
      bodySerializer: (body) => body,
      headers: { "Content-Type": "application/xml" },
    }),
  );
  assert.equal(imported.data.name, "Al Form");

  for (const { id } of [lead, imported.data]) await said(api.DELETE("/2.0/leads/{id}", { params: { path: { id } } }));
  assert.equal((await refusal(api.GET("/2.0/leads/{id}", { params: { path } }))).code, "lead_not_found");
}

async function contacts(): Promise<void> {
  const body = { name: "Cora Contact", email: `cora-${randomUUID()}@example.com`, address: { city: "Leeds", country: "GB" } };
  const { data: contact } = await said(api.POST("/2.0/contacts", { params: { header: once_only() }, body }));
  const listed = await ids((cursor) => said(api.GET("/2.0/contacts", { params: { query: { per_page: 5, cursor } } })));
  assert(listed.has(contact.id));

  const path = { id: contact.id };
  const changed = await said(
    api.PATCH("/2.0/contacts/{id}", { params: { path, header: at(contact) }, body: { company: "Cora & Co" } }),
  );
  assert.equal(changed.data.data.company, "Cora & Co");
  assert.equal(changed.data.data.address.city, "Leeds", "what a change omits stays");

  const nameless = await refusal(api.POST("/2.0/contacts", { body: { name: "" } }));
  assert.equal(nameless.code, "validation_failed");
  assert.equal(nameless.details["field"], "name");

  await said(api.DELETE("/2.0/contacts/{id}", { params: { path } }));
  assert.equal((await refusal(api.GET("/2.0/contacts/{id}", { params: { path } }))).code, "contact_not_found");
}

/** A vehicle, its changes, and the advert that it becomes. */
async function vehiclesAndListings(): Promise<void> {
  const data = {
    vehicle: { type: "Car", make: "Ford", model: "Focus", mileage: 41_250 },
    history: { year: 2019 },
    stock: { price_website: 9_995 },
  } as const;
  const { data: vehicle } = await said(api.POST("/2.0/vehicles", { params: { header: once_only() }, body: { data } }));
  const path = { id: vehicle.id };
  const query = { make: "Ford", "price[]": [9_000, 10_000], per_page: 5 };
  const listed = await ids((cursor) => said(api.GET("/2.0/vehicles", { params: { query: { ...query, cursor } } })));
  assert(listed.has(vehicle.id));

  const read = await api.GET("/2.0/vehicles/{id}", { params: { path } });
  const shown = full<Schemas["Vehicle"]>((await said(Promise.resolve(read))).data);
  const unchanged = await api.GET("/2.0/vehicles/{id}", {
    params: { path, header: { "If-None-Match": read.response.headers.get("ETag") ?? "" } },
  });
  assert.equal(unchanged.response.status, 304);
  const changed = await said(
    api.PATCH("/2.0/vehicles/{id}", {
      params: { path, header: at(shown) },
      body: { data: { stock: { price_website: 9_495 } } },
    }),
  );
  assert.equal(changed.data.data.stock.price_website, "9495.00");
  const unknown = await refusal(api.GET("/2.0/vehicles", { params: { query: { fields: "id,data.stock.price_web" } } }));
  assert.equal(unknown.code, "validation_failed");

  await said(api.PUT("/2.0/vehicles/{id}/channels", { params: { path }, body: { channels: ["website"] } }));
  const adverts = await ids((cursor) =>
    said(api.GET("/2.0/listings", { params: { query: { make: "Ford", "price[]": [9_495, 9_495], per_page: 5, cursor } } })),
  );
  assert(adverts.has(vehicle.id));
  const { data: listing } = await said(api.GET("/2.0/listings/{id}", { params: { path } }));
  assert.equal(listing.data.vehicle.make, "Ford");
  const feeds = await said(api.GET("/2.0/feeds"));
  assert(feeds.data.length > 0);

  await said(api.DELETE("/2.0/vehicles/{id}", { params: { path } }));
  assert.equal((await refusal(api.GET("/2.0/listings/{id}", { params: { path } }))).code, "listing_not_found");
  assert.equal((await refusal(api.GET("/2.0/vehicles/{id}", { params: { path } }))).code, "vehicle_not_found");
}

async function blogs(): Promise<void> {
  const body = { title: `On tour ${randomUUID()}`, content: "<p>Ten garages in ten days.</p>" };
  const { data: article } = await said(api.POST("/2.0/blogs", { params: { header: once_only() }, body }));
  const listed = await ids((cursor) => said(api.GET("/2.0/blogs", { params: { query: { per_page: 2, cursor } } })));
  assert(listed.has(article.id));
  const path = { id: article.id };
  const changed = await said(
    api.PATCH("/2.0/blogs/{id}", { params: { path, header: at(article) }, body: { category: "Travel" } }),
  );
  assert.equal(changed.data.category, "Travel");
  const untitled = await refusal(api.POST("/2.0/blogs", { body: { title: "" } }));
  assert.equal(untitled.details["field"], "title");
  await said(api.DELETE("/2.0/blogs/{id}", { params: { path } }));
  assert.equal((await refusal(api.GET("/2.0/blogs/{id}", { params: { path } }))).code, "blog_not_found");
}

async function reviews(): Promise<void> {
  const body = { rating: 4.5, name: "Rae View", review: "Friendly, and no queue." };
  const { data: review } = await said(api.POST("/2.0/reviews", { params: { header: once_only() }, body }));
  const listed = await ids((cursor) => said(api.GET("/2.0/reviews", { params: { query: { per_page: 2, cursor } } })));
  assert(listed.has(review.id));
  const path = { id: review.id };
  const changed = await said(
    api.PATCH("/2.0/reviews/{id}", { params: { path, header: at(review) }, body: { status: "approved" } }),
  );
  assert.equal(changed.data.status, "approved");
  const six = await refusal(api.PATCH("/2.0/reviews/{id}", { params: { path }, body: { rating: 6 } }));
  assert.equal(six.details["field"], "rating");
  await said(api.DELETE("/2.0/reviews/{id}", { params: { path } }));
  assert.equal((await refusal(api.GET("/2.0/reviews/{id}", { params: { path } }))).code, "review_not_found");
}

/** The lists that other areas refer to. They are short, and have no pages. */
async function reference(): Promise<void> {
  const types = await said(api.GET("/2.0/reference/lead-types"));
  assert(types.data.some(({ id }) => id === "test_drive"));
  const tags = await said(api.GET("/2.0/reference/tags", { params: { query: { resource: "lead" } } }));
  assert.equal(tags.data.resource, "lead");
  const makes = await said(api.GET("/2.0/reference/vehicle-taxonomy", { params: { query: { type: "Car" } } }));
  assert(makes.data.makes?.includes("Ford"));
  const meta = await said(api.GET("/2.0/meta"));
  assert(meta.data.endpoints.length > 0);
}

/** Whether the bytes of a delivery were signed with `secret`, not long ago. */
function isGenuine(header: string | undefined, body: Buffer, secret: string): boolean {
  const parts = new Map((header ?? "").split(",").map((part) => part.split("=", 2) as [string, string]));
  const [t, v1] = [parts.get("t") ?? "", parts.get("v1") ?? ""];
  const expected = Buffer.from(createHmac("sha256", secret).update(`${t}.`).update(body).digest("hex"));
  const given = Buffer.from(v1);
  // Comparing in constant time takes equal lengths. The time is believed only once it is known to be signed.
  return (
    given.length === expected.length &&
    timingSafeEqual(given, expected) &&
    Math.abs(Date.now() / 1000 - Number(t)) <= 300
  );
}

type Delivery = { signature: string | undefined; body: Buffer };
type Ping = webhooks["ping"]["post"]["requestBody"]["content"]["application/json"];

async function delivery(request: IncomingMessage): Promise<Delivery> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const signature = request.headers["x-service-signature"];
  return { signature: typeof signature === "string" ? signature : undefined, body: Buffer.concat(chunks) };
}

async function webhooksTour(): Promise<void> {
  const receiver = createServer();
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  try {
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
    const { data: webhook } = await said(
      api.POST("/2.0/webhooks", { params: { header: once_only() }, body: { url, events: ["lead.created"] } }),
    );
    const listed = await ids((cursor) => said(api.GET("/2.0/webhooks", { params: { query: { per_page: 1, cursor } } })));
    assert(listed.has(webhook.id));
    const path = { id: webhook.id };
    await said(
      api.PATCH("/2.0/webhooks/{id}", { params: { path, header: at(webhook) }, body: { description: "The tour's" } }),
    );

    const arrives = once(receiver, "request", { signal: AbortSignal.timeout(30_000) });
    await said(api.POST("/2.0/webhooks/{id}/ping", { params: { path } }));
    const [request, response] = await arrives;
    const { signature, body } = await delivery(request);
    response.writeHead(204).end();
    assert(isGenuine(signature, body, webhook.secret));
    assert(!isGenuine(signature, Buffer.concat([body, Buffer.from(" ")]), webhook.secret), "altered");
    assert(!isGenuine(signature, body, "whsec_other"), "signed by someone else");
    const ping: Ping = JSON.parse(body.toString("utf8"));
    assert.equal(ping.data.webhook, webhook.id);

    const wrong = await refusal(api.POST("/2.0/webhooks", { body: { url: "nowhere", events: ["lead.created"] } }));
    assert.equal(wrong.code, "validation_failed");
    await said(api.DELETE("/2.0/webhooks/{id}", { params: { path } }));
    assert.equal((await refusal(api.GET("/2.0/webhooks/{id}", { params: { path } }))).code, "webhook_not_found");
  } finally {
    receiver.close();
    receiver.closeAllConnections();
  }
}

for (const part of [leads, contacts, vehiclesAndListings, blogs, reviews, reference, webhooksTour]) {
  await part();
  console.log(`${part.name}: seen`);
}
