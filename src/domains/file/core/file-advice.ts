export interface FileStanding {
  id: string;
  batchId: string;
  state: string;
  isEnded: boolean;
  errorClass: string | null;
  /** Its upload was confirmed, so that its bytes are there. */
  isConfirmed: boolean;
}

/** What the owner of a file can do now, or what comes by itself. Null: the diagnosis says it. */
export function adviceFor(file: FileStanding): string | null {
  const { id, batchId, state, isEnded, errorClass, isConfirmed } = file;
  if (state === 'ready') return 'Nothing: it can be searched.';
  const confirm = `POST /api/v2/uploads/batches/${batchId}/files/${id}/confirm`;
  if (state === 'registered') return `PUT its bytes to its uploadUrl, then ${confirm}.`;
  if (state === 'uploaded') return `Its bytes are there: ${confirm}.`;
  if (!isEnded) return null;
  if (!isConfirmed) return 'Its bytes were never confirmed: register it again in a new batch.';
  const retry = `POST /api/v2/files/${id}/retry`;
  if (errorClass === 'BAD_INPUT') {
    return `Mend the file and upload it again: ${retry} would read the same bytes again and fail in the same way.`;
  }
  if (errorClass === 'SCAN_TIMEOUT') return `Split the file, or make it smaller, and upload it again; or ${retry}.`;
  return `${retry} begins its processing again.`;
}
