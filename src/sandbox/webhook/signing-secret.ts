import type { Words } from "../../core/language.ts";
import type { Refusal } from "../../core/outcome.ts";
import { openSecret, type SealedSecret } from "../../core/webhook/sealed-secret.ts";

/** Thrown if the master key cannot decrypt a signing secret, because another program changed the key or the secret. */
export class SecretUnreadable extends Error {
  override readonly name = "SecretUnreadable";
  readonly refusal: Refusal;

  constructor(secret: Pick<SealedSecret, "id" | "storeId">) {
    const [message, chinese] = unreadableWords(secret);
    super(message);
    this.refusal = { code: "state_conflict", message, chinese };
  }
}

const openedSecrets = new WeakMap<SealedSecret, string>();

export function openStoredSecret(sealedSecret: SealedSecret, masterKey: Uint8Array): string {
  const secret = openedSecrets.get(sealedSecret) ?? openSecret(sealedSecret, masterKey);
  if (secret === undefined) throw new SecretUnreadable(sealedSecret);
  openedSecrets.set(sealedSecret, secret);
  return secret;
}

function unreadableWords({ id, storeId }: Pick<SealedSecret, "id" | "storeId">): Words {
  return [
    `the master key cannot decrypt signing secret ${id} of store ${storeId}: the master key or the secret was changed by another program; restore master.key and sandbox.db from the same backup, or delete the store and create it again`,
    `主密钥无法解密商店 ${storeId} 的签名密钥 ${id}：主密钥或该签名密钥已被其他程序更改；请从同一备份恢复 master.key 和 sandbox.db，或删除该商店后重新创建`,
  ];
}
