/** A worker that was not seen for this long is silent. Workers give a sign of life every five seconds, so it has missed
 *  three and a little more. One constant, so that health, metrics, the doctor, a diagnosis and a drill mean the same
 *  workers. */
export const WORKER_SILENT_SECONDS = 20;
