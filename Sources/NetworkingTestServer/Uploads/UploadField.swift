#if TestServer
import FoundationForNetworking
import HTTPTypes
import NetworkingCore

/// The fields of both protocols.
enum UploadField {
    // The names are valid, so the values are not `nil`.
    static let acceptPatch = HTTPField.Name("Accept-Patch")!
    static let allow = HTTPField.Name("Allow")!
    static let complete = HTTPField.Name("Upload-Complete")!
    static let length = HTTPField.Name("Upload-Length")!
    static let limit = HTTPField.Name("Upload-Limit")!
    static let offset = HTTPField.Name("Upload-Offset")!
    static let interopVersion = HTTPField.Name("Upload-Draft-Interop-Version")!

    static let contentDigest = HTTPField.Name("Content-Digest")!
    static let reprDigest = HTTPField.Name("Repr-Digest")!
    static let wantReprDigest = HTTPField.Name("Want-Repr-Digest")!

    static let tusChecksumAlgorithm = HTTPField.Name("Tus-Checksum-Algorithm")!
    static let tusExtension = HTTPField.Name("Tus-Extension")!
    static let tusMaximumSize = HTTPField.Name("Tus-Max-Size")!
    static let tusResumable = HTTPField.Name("Tus-Resumable")!
    static let tusVersion = HTTPField.Name("Tus-Version")!
    static let checksum = HTTPField.Name("Upload-Checksum")!
    static let expires = HTTPField.Name("Upload-Expires")!
    static let metadata = HTTPField.Name("Upload-Metadata")!
}

extension RecordedRequest {
    /// Returns a field that is a non-negative Integer (RFC 9651), or `nil` for any other value.
    func integer(_ name: HTTPField.Name) -> Int64? {
        guard case .integer(let value) = item(name), value >= 0 else { return nil }
        return value
    }

    /// Returns a field that is a Boolean (RFC 9651), or `nil` for any other value.
    func boolean(_ name: HTTPField.Name) -> Bool? {
        guard case .boolean(let value) = item(name) else { return nil }
        return value
    }

    /// Returns a field that is decimal digits only, as in tus, or `nil` for any other value.
    func digits(_ name: HTTPField.Name) -> Int64? {
        headerFields[name].flatMap { DecimalDigits.number($0.utf8) }
    }

    private func item(_ name: HTTPField.Name) -> StructuredItem.Value? {
        headerFields[name].flatMap { StructuredItem.item($0) }?.value
    }

    /// The digests of a field of RFC 9530 by algorithm; empty if the field is missing or malformed.
    func digests(_ name: HTTPField.Name) -> [String: Data] {
        let members = headerFields[name].flatMap { StructuredItem.dictionary($0) } ?? [:]
        return members.compactMapValues { member in
            guard case .bytes(let bytes) = member.value else { return nil }
            return Data(bytes)
        }
    }

    /// The computed algorithm that `Want-Repr-Digest` prefers.
    var wantedDigest: String? {
        let members = headerFields[UploadField.wantReprDigest].flatMap { StructuredItem.dictionary($0) } ?? [:]
        let preferences = UploadHashes.names.compactMap { name -> (name: String, weight: Int64)? in
            guard case .integer(let weight) = members[name]?.value, weight > 0 else { return nil }
            return (name, weight)
        }
        return preferences.max { $0.weight < $1.weight }?.name
    }

    /// The length of the body, if it is known at the head; `nil` in the chunked coding.
    var announcedLength: Int64? {
        guard headerFields[.transferEncoding] == nil else { return nil }
        guard let length = headerFields[.contentLength] else { return 0 }
        return DecimalDigits.number(length.utf8)
    }

    /// The media type in lowercase, without parameters.
    var mediaType: String {
        (headerFields[.contentType] ?? "").prefix { $0 != ";" }.lowercased().filter { $0 != " " }
    }

    /// The metadata of tus; `nil` if the field is malformed.
    var tusMetadata: [String: Data]? {
        var metadata: [String: Data] = [:]
        for pair in (headerFields[UploadField.metadata] ?? "").split(separator: ",") {
            let parts = pair.split(separator: " ")
            guard let key = parts.first, parts.count <= 2, metadata[String(key)] == nil,
                let value = parts.count == 2 ? Data(base64Encoded: String(parts[1])) : Data()
            else { return nil }
            metadata[String(key)] = value
        }
        return metadata
    }
}
#endif
