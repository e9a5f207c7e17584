import FoundationForNetworking
import HTTPTypes
public import NetworkingCore

extension HTTPResponseData {
    /// The name that the server suggests for a file with the body, without a directory and made harmless; `nil` if
    /// there is none.
    ///
    /// The name is that of `Content-Disposition`, or else the last component of the URL. Percent escapes are decoded in
    /// `filename*` (RFC 8187), which comes first, and in the URL. They stay as they are in `filename`, where RFC 6266
    /// gives them no meaning. Directories, control characters and dots at the start are removed.
    ///
    /// ```swift
    /// // Content-Disposition: attachment; filename="../../etc/passwd"
    /// response.suggestedFileName   // "passwd"
    /// ```
    public var suggestedFileName: String? {
        for disposition in headerFields[values: .contentDisposition] {
            if let name = FileName.suggested(by: disposition) { return name }
        }
        let path = sentRequest.path ?? ""
        let last = path.utf8.split(separator: UInt8(ascii: "/")).last ?? ""[...].utf8
        return FileName.safe(PercentEncoding.decode(Substring(last)))
    }
}

extension FileName {
    /// Returns the name that a `Content-Disposition` field suggests.
    static func suggested(by disposition: String) -> String? {
        if let value = BodyType.parameter("filename*", in: disposition[...]),
            let name = extended(value).flatMap({ safe($0) })
        {
            return name
        }
        return BodyType.parameter("filename", in: disposition[...]).flatMap { safe($0) }
    }

    /// Decodes a value preceded by its charset and language: `UTF-8'en'%e2%82%ac%20rates` (RFC 8187 section 3.2).
    private static func extended(_ value: String) -> String? {
        let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = PercentEncoding.bytes(strictlyDecoding: parts[2]) else { return nil }
        switch parts[0].lowercased() {
        case "utf-8": return String(validating: bytes, as: UTF8.self)
        case "iso-8859-1": return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        default: return nil
        }
    }
}
