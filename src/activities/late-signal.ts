/** An abort controller whose signal is made when somebody first asks for it. Most short attempts end before anybody does, and
 *  each signal costs them some 7 µs. */
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
