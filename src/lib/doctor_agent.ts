/** How our own checks name themselves, so that they are not taken for a client that tries to connect. */
export const doctorAgent = "portcullis-doctor";
