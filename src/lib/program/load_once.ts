/** What is loaded when it is first asked for. A failure is not kept: the next call tries again. */
interface LoadOnce<Loaded> {
  (): Promise<Loaded>;
  /** Runs only where it was loaded. */
  ifLoaded(use: (loaded: Loaded) => void | Promise<void>): Promise<void>;
}

export function loadOnce<Loaded>(load: () => Promise<Loaded>): LoadOnce<Loaded> {
  let loading: Promise<Loaded> | undefined;
  const get = (): Promise<Loaded> =>
    loading ??= load().catch((error) => {
      loading = undefined;
      throw error;
    });
  return Object.assign(get, {
    async ifLoaded(use: (loaded: Loaded) => void | Promise<void>) {
      const loaded = await loading?.catch(() => undefined);
      if (loaded !== undefined) await use(loaded);
    },
  });
}
