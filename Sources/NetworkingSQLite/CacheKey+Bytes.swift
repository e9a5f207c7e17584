#if SQLite
import Foundation
import Networking

extension Checksum {
    static func value(
        url: [UInt8],
        owner: [UInt8],
        uuid: UnsafeRawBufferPointer,
        head: UnsafeRawBufferPointer,
        body: UnsafeRawBufferPointer
    ) -> Int64 {
        var checksum = Checksum()
        url.withUnsafeBytes { checksum.update($0) }
        owner.withUnsafeBytes { checksum.update($0) }
        for part in [uuid, head, body] {
            checksum.update(part)
        }
        return Int64(checksum.value)
    }
}

extension CacheKey {
    /// As bytes: SQLite would end a text at its first zero, and two keys would be one.
    var urlBytes: [UInt8] {
        Array(url.utf8)
    }

    /// One byte says whether there is a principal, whatever its id.
    var ownerBytes: [UInt8] {
        guard let principal else { return [0] }
        return [1] + principal.id.utf8
    }

    init?(url: UnsafeRawBufferPointer, owner: UnsafeRawBufferPointer) {
        guard let url = String(validating: url, as: UTF8.self), let isOwned = owner.first,
            let id = String(validating: owner.dropFirst(), as: UTF8.self)
        else { return nil }
        self.init(principal: isOwned == 0 ? nil : Principal(id: id), url: url)
    }
}

extension UUID {
    var bytes: Data {
        withUnsafeBytes(of: uuid) { Data($0) }
    }
}
#endif
