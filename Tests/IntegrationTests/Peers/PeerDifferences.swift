#if TestServer && URLSession && AsyncHTTPClient && os(Linux)
import Testing

/// The cases of the matrix that fail, with the reason.
///
/// A case that passes although it is listed fails its test. The numbers are those of `Documentation/Transports.md`.
enum PeerDifferences {
    /// The cases that fail.
    static let known: [String: String] = [:]

    /// The cases that would crash the process.
    static let untried: [String: String] = [:]
}
#endif
