#if Crypto
import HTTPTypes
import NetworkingCore

/// The canonical form of a request in AWS Signature Version 4.
struct AWSCanonicalRequest {
    let text: String
    /// The names of the signed fields.
    let signedFields: String

    /// Creates the canonical form of a request, and joins repeated fields into one: transports that join them put a
    /// space after the comma, which the signature does not have.
    init(
        _ request: inout HTTPRequestData,
        payload: String,
        normalizesPath: Bool,
        encodesPathTwice: Bool,
        unsignedFields: Set<HTTPField.Name>
    ) {
        var fields = ["host": request.hostField]
        for name in Set(request.headerFields.map(\.name)) where !unsignedFields.contains(name) && !name.isUnstable {
            let values = request.headerFields[values: name]
            if values.count > 1 {
                let value = values.joined(separator: ",")
                if request.headerFields[fields: name].contains(where: { $0.indexingStrategy == .disallow }) {
                    request.setCredential(value, for: name)
                } else {
                    request.headerFields[name] = value
                }
            }
            fields[name.canonicalName] = Self.joined(values)
        }
        self.init(
            method: request.method.rawValue,
            path: Self.path(request.path ?? "/", isNormalized: normalizesPath, isEncodedTwice: encodesPathTwice),
            query: Self.query(request.query.encoded ?? ""),
            fields: fields,
            payload: payload
        )
    }

    /// Creates a canonical request from canonical parts.
    init(method: String, path: String, query: String, fields: [String: String], payload: String) {
        let fields = fields.sorted { $0.key < $1.key }
        signedFields = fields.map(\.key).joined(separator: ";")
        let lines = fields.map { "\($0.key):\($0.value)\n" }.joined()
        text = [method, path, query, lines, signedFields, payload].joined(separator: "\n")
    }

    /// Joins the values of a field, without insignificant white space.
    static func joined(_ values: [String]) -> String {
        values.map { value in
            value.split { $0 == " " || $0 == "\t" || $0.isNewline }.joined(separator: " ")
        }
        .joined(separator: ",")
    }

    static func path(_ path: String, isNormalized: Bool, isEncodedTwice: Bool) -> String {
        // S3 treats an encoded slash as a slash.
        let encoded = PercentEncoding.awsPath.encode(
            isEncodedTwice ? Array(path.utf8) : PercentEncoding.bytes(decoding: path)
        )
        guard isNormalized else { return encoded }
        var segments: [Substring] = []
        for segment in encoded.split(separator: "/") where segment != "." {
            if segment == ".." {
                _ = segments.popLast()
            } else {
                segments.append(segment)
            }
        }
        return "/" + segments.joined(separator: "/") + (encoded.hasSuffix("/") && !segments.isEmpty ? "/" : "")
    }

    static func query(_ query: String) -> String {
        query.split(separator: "&")
            .map { encodedItem in
                let parts = encodedItem.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                let item = parts.map {
                    PercentEncoding.unreserved.encode(PercentEncoding.bytes(decoding: $0, plusIsSpace: true))
                }
                return (name: item[0], value: item.count > 1 ? item[1] : "")
            }
            .sorted { ($0.name, $0.value) < ($1.name, $1.value) }
            .map { "\($0.name)=\($0.value)" }
            .joined(separator: "&")
    }
}

extension PercentEncoding {
    /// The encoding of a path in AWS Signature Version 4.
    fileprivate static let awsPath = PercentEncoding(
        allowing: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/"
    )
}

extension HTTPRequestData {
    /// The Host field that transports send: the authority, without the default port of the scheme.
    fileprivate var hostField: String {
        let authority = authority ?? ""
        let port = scheme == "http" ? ":80" : ":443"
        return authority.hasSuffix(port) ? String(authority.dropLast(port.count)) : authority
    }
}

extension HTTPField.Name {
    /// Whether transports or proxies add, remove or change the field, so that it cannot be signed.
    fileprivate var isUnstable: Bool {
        Self.unstable.contains(canonicalName) || canonicalName.hasPrefix("proxy-")
    }

    private static let unstable: Set<String> = [
        "accept-encoding", "authorization", "baggage", "cache-control", "connection", "content-length", "cookie",
        "expect",
        "forwarded", "from", "host", "keep-alive", "max-forwards", "pragma", "referer", "te", "traceparent",
        "tracestate",
        "trailer", "transfer-encoding", "upgrade", "user-agent", "via", "x-amzn-trace-id", "x-forwarded-for",
        "x-forwarded-host", "x-forwarded-port", "x-forwarded-proto",
    ]
}
#endif
