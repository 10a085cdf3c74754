#!/usr/bin/env node
// Starts Portcullis with the Deno that npm installed beside it. Nothing runs at installation.
"use strict";
const { spawn } = require("node:child_process");
const { join } = require("node:path");

function findDeno() {
  try {
    return require("deno/install_api.cjs").runInstall(); // the path of the executable, which it unpacks once if need be
  } catch (error) {
    process.stderr.write(`error: npm installed no Deno for ${process.platform} ${process.arch}: ${error.message}\n`);
    process.stderr.write(
      "hint: Portcullis needs 64-bit Linux with glibc, macOS or Windows, and npm's optional dependencies.\n",
    );
    process.exit(1);
  }
}

const deno = findDeno();
const args = [
  "run",
  ...require("./package.json").denoFlags,
  join(__dirname, "bundle", "main.js"),
  ...process.argv.slice(2),
];
const env = { ...process.env, DENO_NO_UPDATE_CHECK: "1" };

// npx passes no signal on: where it is killed, the shell between goes, and this process gets another parent.
const isFromNpx = process.env.npm_command === "exec";

// Node 22.15 and later become the server; earlier ones wait beside it, as all do under npx.
if (!isFromNpx && process.platform !== "win32" && typeof process.execve === "function") {
  process.execve(deno, [deno, ...args], env);
}

const server = spawn(deno, args, { stdio: "inherit", env });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => server.kill(signal));
const parent = process.ppid;
const watch = isFromNpx && setInterval(() => process.ppid === parent || server.kill("SIGTERM"), 500);
server.on("error", (error) => {
  process.stderr.write(`error: ${deno} could not be started: ${error.message}\n`);
  process.exit(1);
});
server.on("exit", (code, signal) => {
  clearInterval(watch);
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
