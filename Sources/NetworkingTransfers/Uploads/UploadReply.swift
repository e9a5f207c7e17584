import FoundationForNetworking
import HTTPTypes
import NetworkingCore

/// What a server says about an upload in one response.
///
/// Fields with a value of another type than the specification's are ignored, as it requires.
struct UploadReply {
    /// The maximum length of a body that is read as problem details, in bytes.
    private static let maximumProblemBytes = 64 << 10

    let status: Int
    let fields: HTTPFields
    private let body: Data

    init(status: Int, fields: HTTPFields = [:], body: Data = Data()) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    init(_ response: HTTPResponseData) {
        self.init(status: response.status.code, fields: response.headerFields, body: response.data)
    }

    var isSuccess: Bool {
        200...299 ~= status
    }

    /// Whether the same request may succeed later.
    var isTransient: Bool {
        switch status {
        // 423: a tus server still holds the lock of an earlier request.
        case 408, 423, 425, 429, 500, 502, 503, 504, 507...: true
        default: false
        }
    }

    /// Whether the server no longer has the upload.
    var isGone: Bool {
        status == 404 || status == 410
    }

    /// `Upload-Offset`; `nil` if it is missing or not valid.
    var offset: Int64? {
        integer(.uploadOffset)
    }

    /// `Upload-Length`; `nil` if it is missing or not valid.
    var length: Int64? {
        integer(.uploadLength)
    }

    /// `Upload-Complete`; `nil` if it is missing or not valid.
    var isComplete: Bool? {
        guard case .boolean(let value)? = item(.uploadComplete) else { return nil }
        return value
    }

    /// `Upload-Limit`; `nil` if it is missing or not valid.
    var limits: UploadLimits? {
        fields[.uploadLimit].flatMap { UploadLimits($0) }
    }

    /// The name of the problem type (RFC 9457): the fragment of its URI, such as `completed-upload`.
    var problem: Substring? {
        struct Problem: Decodable {
            let type: String
        }
        let type = BodyType(fields[singleton: .contentType]).essence
        guard type == "application/problem+json", body.count <= Self.maximumProblemBytes,
            let problem = try? JSONDecoder().decode(Problem.self, from: body)
        else { return nil }
        let prefix = "https://iana.org/assignments/http-problem-types#"
        return problem.type.hasPrefix(prefix) ? problem.type.dropFirst(prefix.count) : nil
    }

    /// Whether the response to `OPTIONS` says that the resource supports the IETF draft.
    var supportsDraft: Bool {
        isSuccess && list(.acceptPatch).contains { BodyType($0).essence == "application/partial-upload" }
    }

    /// Whether the response says that the resource supports tus 1.0.0 and the creation of uploads.
    var supportsTus: Bool {
        let versions = list(.tusVersion) + list(.tusResumable)
        return versions.contains("1.0.0") && list(.tusExtension).contains("creation")
    }

    /// The members of a comma-separated field.
    func list(_ name: HTTPField.Name) -> [String] {
        (fields[name] ?? "").split(separator: ",").map { String($0.trimmed) }
    }

    /// A field of tus that is a number.
    func integer(_ name: HTTPField.Name) -> Int64? {
        guard case .integer(let value)? = item(name), value >= 0 else { return nil }
        return value
    }

    private func item(_ name: HTTPField.Name) -> StructuredItem.Value? {
        fields[singleton: name].flatMap { StructuredItem.item($0) }?.value
    }
}

/// The limits of a server: `Upload-Limit` of the IETF draft, section 4.1.4.
struct UploadLimits: Equatable {
    var maximumSize: Int64?
    var minimumSize: Int64?
    var maximumAppendSize: Int64?
    var minimumAppendSize: Int64?
    /// The remaining lifetime of the upload, in seconds.
    var maximumAge: Int64?

    init() {}

    /// Reads the field; `nil` if it is malformed, or if a known member is no valid number.
    init?(_ field: String) {
        guard field.utf8.count <= 4_096, let members = StructuredItem.dictionary(field) else { return nil }
        let keys: [(String, WritableKeyPath<UploadLimits, Int64?>)] = [
            ("max-size", \.maximumSize), ("min-size", \.minimumSize), ("max-append-size", \.maximumAppendSize),
            ("min-append-size", \.minimumAppendSize), ("max-age", \.maximumAge),
        ]
        for (key, path) in keys {
            guard let member = members[key] else { continue }
            guard case .integer(let value) = member.value, value >= 0 else { return nil }
            self[keyPath: path] = value
        }
    }

    /// Replaces the limits that a later response names.
    mutating func update(with other: UploadLimits) {
        maximumSize = other.maximumSize ?? maximumSize
        minimumSize = other.minimumSize ?? minimumSize
        maximumAppendSize = other.maximumAppendSize ?? maximumAppendSize
        minimumAppendSize = other.minimumAppendSize ?? minimumAppendSize
        maximumAge = other.maximumAge ?? maximumAge
    }
}

extension HTTPField.Name {
    // The names are valid, so the values are not `nil`.
    static let acceptPatch = HTTPField.Name("Accept-Patch")!
    static let uploadOffset = HTTPField.Name("Upload-Offset")!
    static let uploadLength = HTTPField.Name("Upload-Length")!
    static let uploadComplete = HTTPField.Name("Upload-Complete")!
    static let uploadLimit = HTTPField.Name("Upload-Limit")!
    static let uploadDraftInteropVersion = HTTPField.Name("Upload-Draft-Interop-Version")!
    static let uploadMetadata = HTTPField.Name("Upload-Metadata")!
    static let uploadExpires = HTTPField.Name("Upload-Expires")!
    static let uploadChecksum = HTTPField.Name("Upload-Checksum")!
    static let tusResumable = HTTPField.Name("Tus-Resumable")!
    static let tusVersion = HTTPField.Name("Tus-Version")!
    static let tusExtension = HTTPField.Name("Tus-Extension")!
    static let tusMaxSize = HTTPField.Name("Tus-Max-Size")!
    static let tusChecksumAlgorithm = HTTPField.Name("Tus-Checksum-Algorithm")!
    static let reprDigest = HTTPField.Name("Repr-Digest")!
    static let contentDigest = HTTPField.Name("Content-Digest")!
}
