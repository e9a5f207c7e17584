#if TestServer
public import FoundationForNetworking

extension TestResponse {
    /// The bytes after the head and the way they are sent.
    public enum Body: Sendable {
        /// Sends all bytes at once, with their `Content-Length`.
        case data(Data)

        /// Sends the chunks separately, in the chunked transfer coding.
        ///
        /// An empty chunk sends nothing.
        case chunks([Chunk])

        /// Sends the chunks separately under a `Content-Length` that is their sum, for a slow body of known size.
        case sized([Chunk])

        /// Sends the request's body back in the chunked transfer coding.
        ///
        /// A route that responds at the head sends each chunk as soon as it has arrived, so both sides send at the same
        /// time.
        case echo

        /// Sends nothing, not even the head, and closes the connection.
        case hangUp

        /// Sends exactly the bytes of the steps, in place of head and body: ``TestResponse/raw(_:)``.
        case raw([RawStep])

        /// Sends no bytes and `Content-Length: 0`.
        public static var empty: Body {
            .data(Data())
        }
    }
}
#endif
