#if TestServer
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension TestResponse {
    /// Describes the bytes behind the head and the way they are sent.
    public enum Body: Sendable {
        /// Sends all bytes at once, with their `Content-Length`.
        case data(Data)

        /// Sends the chunked transfer coding, each chunk on its own; an empty chunk sends nothing.
        case chunks([Chunk])

        /// Sends the pieces one by one under a `Content-Length` that is their sum: a slow body of known size.
        case sized([Chunk])

        /// Sends the request's body back in the chunked transfer coding.
        ///
        /// A route that answers at the head sends each chunk as soon as it has arrived: both sides talk at the same
        /// time.
        case echo

        /// Sends nothing at all, not even the head, and closes the connection.
        case hangUp

        /// Sends bytes of the test's choice and nothing else, in place of head and body: ``TestResponse/raw(_:)``.
        case raw([RawStep])

        /// Sends no bytes and `Content-Length: 0`.
        public static var empty: Body {
            .data(Data())
        }
    }
}
#endif
