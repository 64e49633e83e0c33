/** An abort controller that makes its signal when somebody first asks for it. Most short attempts end before anybody asks, and each
 *  signal costs some 7 µs. */
export class LateSignal {
  #controller: AbortController | undefined;
  #aborted: { reason: unknown } | undefined;

  get aborted(): boolean {
    return this.#aborted !== undefined;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#aborted.reason);
    }
    return this.#controller.signal;
  }

  /** The first reason counts. */
  abort(reason?: unknown): void {
    if (this.#aborted) return;
    this.#aborted = { reason };
    this.#controller?.abort(reason);
  }
}
