import FoundationForNetworking
public import NetworkingCore

extension ContentCoding {
    /// gzip (RFC 1952), for request bodies.
    ///
    /// Transports decode gzip by themselves, so the coding has no decoder.
    public static let gzip = ContentCoding("gzip", encoder: { GzipEncoder() })

    /// deflate in the wrapper of zlib (RFC 1950), for request bodies.
    ///
    /// Transports decode deflate by themselves, so the coding has no decoder.
    public static let deflate = ContentCoding("deflate", encoder: { ZlibEncoder() })
}

private struct GzipEncoder: ContentEncoder {
    /// No name, no time and an unknown system, so that equal bodies have equal bytes.
    private static let head = Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255])

    private var deflate = Deflate()
    private var head = Self.head
    private var checksum = CRC32()
    private var count: UInt32 = 0

    mutating func encode(_ bytes: Data) -> Data {
        checksum.add(bytes)
        count &+= UInt32(truncatingIfNeeded: bytes.count)
        defer { head = Data() }
        return head + deflate.encode(bytes)
    }

    mutating func finish() -> Data {
        var end = head + deflate.finish()
        for number in [checksum.value, count] {
            withUnsafeBytes(of: number.littleEndian) { end.append(contentsOf: $0) }
        }
        return end
    }
}

private struct ZlibEncoder: ContentEncoder {
    private var deflate = Deflate()
    /// A window of 32 KiB, and the usual effort.
    private var head = Data([0x78, 0x9C])
    // Adler-32 (RFC 1950 section 9).
    private var low: UInt32 = 1
    private var high: UInt32 = 0

    mutating func encode(_ bytes: Data) -> Data {
        for byte in bytes {
            low += UInt32(byte)
            if low >= 65_521 { low -= 65_521 }
            high += low
            if high >= 65_521 { high -= 65_521 }
        }
        defer { head = Data() }
        return head + deflate.encode(bytes)
    }

    mutating func finish() -> Data {
        var end = head + deflate.finish()
        withUnsafeBytes(of: (high << 16 | low).bigEndian) { end.append(contentsOf: $0) }
        return end
    }
}

/// The checksum of gzip (RFC 1952 section 8).
private struct CRC32 {
    private static let table: [UInt32] = (0..<256)
        .map { byte in
            (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
        }

    private var register = ~UInt32(0)

    var value: UInt32 {
        ~register
    }

    mutating func add(_ bytes: Data) {
        var register = register
        bytes.withUnsafeBytes { bytes in
            Self.table.withUnsafeBufferPointer { table in
                for byte in bytes {
                    register = register >> 8 ^ table[Int(UInt8(truncatingIfNeeded: register) ^ byte)]
                }
            }
        }
        self.register = register
    }
}
