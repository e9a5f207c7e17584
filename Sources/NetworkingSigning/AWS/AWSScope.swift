#if Crypto
import Crypto
import FoundationForNetworking
import NetworkingCore

/// The date, region and service for which a signature is valid.
struct AWSScope: CustomStringConvertible {
    /// The time to the second, in the format of `X-Amz-Date`: `20150830T123600Z`.
    let date: String
    let region: String
    let service: String

    init(date: Date, region: String, service: String) {
        self.date = Date.ISO8601FormatStyle.amz.format(date)
        self.region = region
        self.service = service
    }

    /// The scope as written in a signature.
    var description: String {
        "\(day)/\(region)/\(service)/\(Self.end)"
    }

    /// Returns the signature of a request, in hexadecimal digits.
    func signature(of request: AWSCanonicalRequest, with credentials: AWSCredentials) -> String {
        let digest = SHA256.hash(data: Data(request.text.utf8)).hexadecimal
        let text = "\(AWSSigner.algorithm)\n\(date)\n\(self)\n\(digest)"
        var key = SymmetricKey(data: Data("AWS4\(credentials.secretAccessKey)".utf8))
        for part in [String(day), region, service, Self.end] {
            key = SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Data(part.utf8), using: key))
        }
        return HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key).hexadecimal
    }

    private var day: Substring {
        date.prefix(8)
    }

    private static let end = "aws4_request"
}

extension Date.ISO8601FormatStyle {
    /// `20150830T123600Z`.
    static let amz = Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted, timeZone: .gmt)
}
#endif
