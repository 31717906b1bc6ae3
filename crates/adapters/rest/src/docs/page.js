// The interactive reference. Every address is relative to the page, so that it also works below a path of a proxy.
"use strict";

const DOCUMENT = "2.0/openapi.json";
const KEPT = "forecourt.authorization";

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const followScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
followScheme();
dark.addEventListener("change", followScheme);

// Keeps the token over reloads, in this tab alone and until it is closed.
const keepsAuthorization = () => ({
  statePlugins: {
    auth: {
      wrapActions: {
        authorize: (original) => (authorization) => {
          sessionStorage.setItem(KEPT, JSON.stringify(authorization));
          return original(authorization);
        },
        logout: (original) => (names) => {
          sessionStorage.removeItem(KEPT);
          return original(names);
        },
      },
    },
  },
});

// Shows the example of a body in XML as it is written: it would be wrapped into an element named after its schema.
const showsTextAsWritten = () => ({
  afterLoad() {
    const sample = this.fn.getSampleSchema;
    this.fn.getSampleSchema = (schema, type, config, example) =>
      typeof example === "string" && type.includes("xml") ? example : sample(schema, type, config, example);
  },
});

async function show() {
  const answer = await fetch(DOCUMENT);
  if (!answer.ok) throw new Error(`${DOCUMENT} is answered with ${answer.status}`);
  const spec = await answer.json();
  // The server that the page came from, by whatever name the reader knows it: requests to others are not allowed here.
  spec.servers = [{ url: new URL(".", location.href).href.replace(/\/$/, ""), description: "this server" }];
  const reference = SwaggerUIBundle({
    dom_id: "#reference",
    spec,
    deepLinking: true,
    // Schemas are shown with the operations that have them.
    defaultModelsExpandDepth: -1,
    displayRequestDuration: true,
    docExpansion: "none",
    tryItOutEnabled: true,
    validatorUrl: null,
    plugins: [keepsAuthorization, showsTextAsWritten],
    onComplete: () => {
      const kept = sessionStorage.getItem(KEPT);
      if (kept) reference.authActions.authorize(JSON.parse(kept));
    },
  });
}

show().catch((error) => {
  document.getElementById("reference").textContent = `The reference cannot be shown: ${error.message}`;
});
