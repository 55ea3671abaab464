/** Where Twilio reports what became of an SMS, below PUBLIC_URL. */
export const RECEIPT_PATH = '/receipt/twilio'
