import type { FieldError } from '../../../core/errors.js';
import { isImage, TAKEN, takenType } from './upload-types.js';

export interface AnnouncedFile {
  clientId: string;
  name: string;
  mimeType: string;
  sizeBytes: number;
  sha256?: string | undefined;
}

export interface UploadLimits {
  maxBytes: number;
  maxImageBytes: number;
}

/** As many bytes as file systems take, so that every file can be saved under its name again. */
const MAX_NAME_BYTES = 255;

/** The faults of the files, each under the path of its field in the request. */
export function faultsOfFiles(files: readonly AnnouncedFile[], limits: UploadLimits): FieldError[] {
  const seen = new Set<string>();
  return files.flatMap((file, index) => {
    const isSecond = seen.has(file.clientId);
    seen.add(file.clientId);
    const faults = { ...(isSecond && { clientId: 'stands twice in this batch' }), ...faultsOfFile(file, limits) };
    return Object.entries(faults).map(([field, message]) => ({ path: `files.${index}.${field}`, message }));
  });
}

function faultsOfFile(file: AnnouncedFile, limits: UploadLimits): Record<string, string> {
  const type = takenType(file.name, file.mimeType);
  const faults = {
    name: faultOfName(file.name),
    mimeType:
      type === null ? `is not taken; use one of ${TAKEN}, or application/octet-stream with their endings` : null,
    sizeBytes: faultOfSize(file.sizeBytes, type !== null && isImage(type) ? limits.maxImageBytes : limits.maxBytes),
    sha256: file.sha256 === undefined || isSha256(file.sha256) ? null : 'must be 64 hexadecimal digits',
  };
  return Object.fromEntries(Object.entries(faults).filter((each): each is [string, string] => each[1] !== null));
}

/** A name is shown to people and may become the name of a file again. Null: it is sound. */
export function faultOfName(name: string): string | null {
  if (name.trim() === '') return 'must not be empty';
  if (/[/\\]/.test(name)) return 'must not contain / or \\; send the name of the file alone';
  // Marks of direction make a name look as if it had another ending.
  if (/[\p{Cc}\p{Surrogate}\u202a-\u202e\u2066-\u2069]/u.test(name)) return 'must not contain control characters';
  if (name === '.' || name === '..') return 'must not be . or ..';
  return Buffer.byteLength(name) > MAX_NAME_BYTES ? `must not be longer than ${MAX_NAME_BYTES} bytes` : null;
}

function faultOfSize(sizeBytes: number, maxBytes: number): string | null {
  if (sizeBytes < 1) return 'must be at least 1, because an empty file has nothing to read';
  return sizeBytes > maxBytes ? `must be at most ${maxBytes} for a file of this type` : null;
}

function isSha256(text: string): boolean {
  return /^[0-9a-f]{64}$/i.test(text);
}
