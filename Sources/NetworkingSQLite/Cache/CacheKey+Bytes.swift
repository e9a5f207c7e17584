#if SQLite
import Foundation
import NetworkingCaching
import NetworkingCore

extension Checksum {
    static func value(
        url: [UInt8],
        owner: [UInt8],
        uuid: UnsafeRawBufferPointer,
        head: UnsafeRawBufferPointer,
        body: UnsafeRawBufferPointer
    ) -> Int64 {
        url.withUnsafeBytes { url in
            owner.withUnsafeBytes { owner in value(of: [url, owner, uuid, head, body]) }
        }
    }
}

extension CacheKey {
    /// The URL as bytes: SQLite would end a text at its first zero, so two keys could be equal.
    var urlBytes: [UInt8] {
        Array(url.utf8)
    }

    init?(url: UnsafeRawBufferPointer, owner: UnsafeRawBufferPointer) {
        guard let url = String(validating: url, as: UTF8.self) else { return nil }
        self.init(url: url, ownerBytes: owner)
    }
}

extension Principal? {
    /// The identity as bytes.
    ///
    /// The first byte is 1 if there is a principal, so an empty id differs from no principal.
    var ownerBytes: [UInt8] {
        guard let self else { return [0] }
        return [1] + self.id.utf8
    }
}

extension UUID {
    var bytes: Data {
        withUnsafeBytes(of: uuid) { Data($0) }
    }
}
#endif
