import FoundationForNetworking
import HTTPTypes

extension HTTPResponse {
    /// The `Last-Modified` field, if it is a strong validator (RFC 9110 section 8.8.2.2); `nil` if it is not.
    ///
    /// The date is exact to the second, so the content must have been unchanged for one second when it was sent.
    package var strongLastModified: String? {
        guard let text = headerFields[singleton: .lastModified], let modified = Date(httpDate: text),
            let date = headerFields[singleton: .date].flatMap({ Date(httpDate: $0) }),
            date.timeIntervalSince(modified) >= 1
        else { return nil }
        return text
    }
}
