/** The longest address that SMTP carries (RFC 5321, 4.5.3.1.3). */
const MAX_CHARACTERS = 254;

/** Whether the text is one plain address. Quoted and commented forms are refused on purpose: nobody has such an
 *  address, and attackers use these forms to smuggle a list of recipients or a header into the field. */
export function isMailAddress(text: string): boolean {
  return (
    text.length <= MAX_CHARACTERS && /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/i.test(text)
  );
}
