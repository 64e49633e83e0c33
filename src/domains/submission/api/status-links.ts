/** The links of submissions. Links that people have were made with this very purpose. */
export const STATUS_LINKS = { purpose: 'unstuck: read the status of one submission, v1', path: '/api/v1/status' };
