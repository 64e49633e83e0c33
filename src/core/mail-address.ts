/** The longest that SMTP carries (RFC 5321, 4.5.3.1.3). */
const MAX_CHARACTERS = 254;

/** One plain address. Quoted and commented forms are left out on purpose: nobody has one, and they are how a list of
 *  recipients or a header is smuggled into a field that holds one. */
export function isMailAddress(text: string): boolean {
  return (
    text.length <= MAX_CHARACTERS && /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/i.test(text)
  );
}
