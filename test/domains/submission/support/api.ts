import { openApi, type TestApi, type TestApiOptions } from '../../../api/setup.js';

/** The API with a second host, one vendor and no folders of this machine. */
export function openSubmissionApi(options: TestApiOptions = {}): Promise<TestApi> {
  const environment = {
    SUBMISSION_HOSTS: 'github.com,git.example.com',
    SUBMISSION_VENDORS: 'openai',
    SUBMISSION_ALLOW_LOCAL: 'false',
    ...options.environment,
  };
  return openApi({ ...options, environment });
}
