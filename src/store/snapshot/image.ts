import { promises, writeFileSync } from "node:fs";
import { crc32 } from "node:zlib";
import Database from "better-sqlite3";
import { isError, accept, type Outcome } from "../../core/outcome.ts";
import {
  beginProof,
  isOriginProof,
  ORIGIN_PROOF_BYTES,
  originProof,
  type SnapshotOrigin,
} from "../../core/snapshot/origin.ts";
import type { SnapshotFacts } from "../../core/snapshot/snapshot.ts";
import {
  APPLICATION_ID_OFFSET,
  currentSchemaVersion,
  schemaVersion,
  HEADER_BYTES,
  IN_MEMORY,
  isDatabaseDamage,
  SQLITE_MAGIC,
  type FileConnection,
  type FileKind,
  type OpenOptions,
} from "../connection/database.ts";
import { applyMigrations, openDatabase } from "../connection/open-database.ts";
import { SANDBOX_FILE } from "../schema.ts";
import { hasReferencesAcrossStores, hasStrayDeliveries } from "./rows.ts";

export const SNAPSHOT_FILE: FileKind = {
  ...SANDBOX_FILE,
  name: "checkout snapshot",
  applicationId: 0x636b534e,
  filesToMoveAway: "the file",
};

export type SnapshotImage = SnapshotFacts & {
  readonly connection: FileConnection;
  readonly key: Uint8Array;
  readonly storeIds: readonly string[];
};

type ImageOptions = Pick<OpenOptions, "kind" | "nativeBinding">;

/** Bytes 72 to 91 of the header are unused by SQLite. */
const CHECKSUM_OFFSET = 72;
const CHECKSUM_BYTES = 4;
const ORIGIN_OFFSET = CHECKSUM_OFFSET + CHECKSUM_BYTES;
const ORIGIN_END = ORIGIN_OFFSET + ORIGIN_PROOF_BYTES;
/** Write and read version must both be 1 (no WAL) for SQLite to open the bytes in memory. */
const WRITE_VERSION_OFFSET = 18;

type Template = { readonly bytes: Buffer; readonly schema: string };

/** Copying an empty database is much faster than running its migrations. */
const templates = new WeakMap<FileKind, Map<number, Template>>();

/** Images with equal rows have equal bytes. */
export function createImage(options: ImageOptions): FileConnection {
  const connection = openBytes(templateOf(options, currentSchemaVersion(options.kind)).bytes, options);
  connection.pragma("journal_mode = OFF");
  connection.pragma("foreign_keys = OFF");
  return connection;
}

export function createImageFile(path: string, options: ImageOptions): FileConnection {
  writeFileSync(path, templateOf(options, currentSchemaVersion(options.kind)).bytes);
  const connection = new Database(path, { nativeBinding: options.nativeBinding });
  for (const pragma of FILE_PRAGMAS) connection.pragma(pragma);
  return connection;
}

/** An unsealed file is discarded after a crash, so SQLite need not flush or journal it. */
const FILE_PRAGMAS = [
  "journal_mode = OFF",
  "synchronous = OFF",
  "locking_mode = EXCLUSIVE",
  "foreign_keys = OFF",
  "trusted_schema = OFF",
  "cache_size = -8000",
];

const PART_BYTES = 1024 * 1024;

/** Reads in parts of 1 MiB, so that the service can answer meanwhile. */
export async function sealFile(path: string, origin: SnapshotOrigin): Promise<void> {
  const file = await promises.open(path, "r+");
  const buffer = Buffer.alloc(PART_BYTES);
  async function* readRest() {
    for (let offset = ORIGIN_END; ;) {
      const { bytesRead } = await file.read(buffer, 0, PART_BYTES, offset);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
      offset += bytesRead;
    }
  }
  try {
    const head = Buffer.alloc(ORIGIN_END);
    await file.read(head, 0, ORIGIN_END, 0);
    const proof = beginProof(origin);
    partsToProve(head).forEach(proof.add);
    for await (const part of readRest()) proof.add(part);
    proof.end().copy(head, ORIGIN_OFFSET);
    let checksum = checksumOf(head);
    for await (const part of readRest()) checksum = crc32(part, checksum);
    head.writeUInt32BE(checksum, CHECKSUM_OFFSET);
    await file.write(head, CHECKSUM_OFFSET, ORIGIN_END - CHECKSUM_OFFSET, CHECKSUM_OFFSET);
  } finally {
    await file.close();
  }
}

/** Call before `writeChecksum`, which also covers the origin. */
export function writeOrigin(bytes: Buffer, origin: SnapshotOrigin): Buffer {
  originProof(origin, partsToProve(bytes)).copy(bytes, ORIGIN_OFFSET);
  return bytes;
}

/** True if this sandbox took the snapshot and its bytes are unchanged (decision 95). */
export function hasValidOrigin(bytes: Uint8Array, origin: SnapshotOrigin): boolean {
  return isOriginProof(origin, partsToProve(bytes), bytes.subarray(ORIGIN_OFFSET, ORIGIN_END));
}

function partsToProve(bytes: Uint8Array): readonly Uint8Array[] {
  return [bytes.subarray(0, CHECKSUM_OFFSET), bytes.subarray(ORIGIN_END)];
}

/** SQLite files have no checksum: a changed digit would be restored unnoticed. */
export function writeChecksum(bytes: Buffer): Buffer {
  bytes.writeUInt32BE(checksumOf(bytes), CHECKSUM_OFFSET);
  return bytes;
}

function checksumOf(bytes: Buffer): number {
  const tail = bytes.subarray(CHECKSUM_OFFSET + CHECKSUM_BYTES);
  return crc32(tail, crc32(bytes.subarray(0, CHECKSUM_OFFSET)));
}

export function openImage(
  bytes: Uint8Array,
  options: ImageOptions & { readonly isOwn?: boolean },
): Outcome<SnapshotImage, string> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const header = buffer.subarray(0, HEADER_BYTES);
  if (header.length < HEADER_BYTES || header.toString("latin1", 0, 16) !== SQLITE_MAGIC)
    return refuseSnapshot("it is not a snapshot of checkout");
  if (header.readInt32BE(APPLICATION_ID_OFFSET) !== options.kind.applicationId)
    return refuseSnapshot("it is a database of another kind, not a snapshot of checkout");
  if (header.readUInt16BE(WRITE_VERSION_OFFSET) !== 0x0101)
    return refuseDamaged("it was changed by another program");
  let connection: FileConnection | undefined;
  try {
    connection = openBytes(buffer, options);
    const check = checkImage(connection, options, buffer);
    if (!check.ok) connection.close();
    return check;
  } catch (error) {
    connection?.close();
    // The image is in memory, so a read error means damage and not a disk failure.
    if (!isDatabaseDamage(error)) throw error;
    return refuseDamaged(isError(error) ? error.message : String(error));
  }
}

function checkImage(
  connection: FileConnection,
  options: ImageOptions & { readonly isOwn?: boolean },
  bytes: Buffer,
): Outcome<SnapshotImage, string> {
  const { kind } = options;
  const version = schemaVersion(connection);
  const newestVersion = currentSchemaVersion(kind);
  if (version > newestVersion)
    return refuseSnapshot(
      `it was written by a newer version of checkout (schema version ${version}; this version supports up to ${newestVersion}); update checkout`,
    );
  if (version < kind.firstVersion)
    return refuseSnapshot(
      `it was written by a development version of checkout (schema version ${version}; released versions start at ${kind.firstVersion}); take a new snapshot`,
    );
  if (checksumOf(bytes) !== bytes.readUInt32BE(CHECKSUM_OFFSET))
    return refuseDamaged("its bytes differ from the bytes that were written");
  if (schemaOf(connection) !== templateOf(options, version).schema)
    return refuseDamaged("its tables are not a snapshot's tables");
  // Snapshots of other sandboxes are also checked for wrong indexes, which would hide rows from queries.
  const check = options.isOwn === true ? "quick_check(1)" : "integrity_check(1)";
  const verdict = String(connection.pragma(check, { simple: true }));
  if (verdict !== "ok") return refuseDamaged(verdict);
  if (version < newestVersion) applyMigrations(connection, kind);
  const strayRows = connection.pragma("foreign_key_check") as readonly unknown[];
  const header = connection
    .prepare<[], Pick<SnapshotImage, "storeId" | "takenAt" | "key">>(
      "SELECT store_id AS storeId, taken_at AS takenAt, key FROM snapshot",
    )
    .get();
  const storeIds = connection.prepare<[], string>("SELECT id FROM stores ORDER BY rowid").pluck().all();
  const isWhole = header?.storeId === null || (storeIds.length === 1 && storeIds[0] === header?.storeId);
  if (strayRows.length > 0 || header === undefined || !isWhole || storeIds.length === 0)
    return refuseDamaged("some of its rows are missing");
  if (storeIds.length > 1 && hasReferencesAcrossStores(connection))
    return refuseDamaged("rows of one store refer to rows of another");
  // Own snapshots need no check: they are unchanged, and no sandbox writes a delivery that differs from its event.
  if (options.isOwn !== true && hasStrayDeliveries(connection))
    return refuseDamaged("deliveries differ from their events");
  return accept({ ...header, format: version, connection, storeIds });
}

function templateOf(options: ImageOptions, version: number): Template {
  const { kind } = options;
  const knownTemplates = templates.get(kind) ?? new Map<number, Template>();
  templates.set(kind, knownTemplates);
  const template = knownTemplates.get(version) ?? makeTemplate(options, version);
  knownTemplates.set(version, template);
  return template;
}

function makeTemplate({ kind, nativeBinding }: ImageOptions, version: number): Template {
  const migrations = kind.migrations.slice(0, version - kind.firstVersion + 1);
  const database = openDatabase(IN_MEMORY, { kind: { ...kind, migrations }, nativeBinding });
  if (!database.ok) throw new Error(database.refusal.message);
  const connection = database.value;
  connection.exec("UPDATE log_mark SET opening = zeroblob(16), before = zeroblob(16)");
  const template = { bytes: connection.serialize(), schema: schemaOf(connection) };
  connection.close();
  return template;
}

function openBytes(bytes: Buffer, { nativeBinding }: ImageOptions): FileConnection {
  const connection = new Database(bytes, { nativeBinding });
  connection.pragma("trusted_schema = OFF");
  connection.pragma("cell_size_check = ON");
  return connection;
}

function schemaOf(connection: FileConnection): string {
  const query = connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name");
  return JSON.stringify(query.raw().all());
}

function refuseDamaged(damage: string): Outcome<never, string> {
  return refuseSnapshot(`it is damaged: ${damage}`);
}

function refuseSnapshot(reason: string): Outcome<never, string> {
  return { ok: false, refusal: reason };
}
