/** The client could not be had here: it is skipped, with this as the reason. */
export class ClientNotInstalled extends Error {
  override readonly name = "ClientNotInstalled";
}
