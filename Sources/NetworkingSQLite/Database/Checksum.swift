#if SQLite
/// CRC-32 as zlib, PNG and gzip compute it, eight bytes at a time.
///
/// It detects changed and truncated bytes, and does not protect against an attacker with write access to the file.
struct Checksum {
    private var state: UInt32 = .max

    var value: UInt32 {
        ~state
    }

    /// Returns the checksum of several parts.
    static func value(of parts: [UnsafeRawBufferPointer]) -> Int64 {
        var checksum = Checksum()
        for part in parts {
            checksum.update(part)
        }
        return Int64(checksum.value)
    }

    /// Adds a part with its length, so that the same bytes with another boundary have another checksum.
    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { add($0) }
        add(bytes)
    }

    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        var crc = state
        Self.tables.withUnsafeBufferPointer { tables in
            var index = 0
            while index + 8 <= bytes.count {
                let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
                let low = UInt32(truncatingIfNeeded: word) ^ crc
                let high = UInt32(truncatingIfNeeded: word >> 32)
                crc = tables[0x700 + Int(low & 0xff)] ^ tables[0x600 + Int(low >> 8 & 0xff)]
                crc ^= tables[0x500 + Int(low >> 16 & 0xff)] ^ tables[0x400 + Int(low >> 24)]
                crc ^= tables[0x300 + Int(high & 0xff)] ^ tables[0x200 + Int(high >> 8 & 0xff)]
                crc ^= tables[0x100 + Int(high >> 16 & 0xff)] ^ tables[Int(high >> 24)]
                index += 8
            }
            while index < bytes.count {
                crc = tables[Int((crc ^ UInt32(bytes[index])) & 0xff)] ^ (crc >> 8)
                index += 1
            }
        }
        state = crc
    }

    /// The table for single bytes, followed by seven tables for bytes with one to seven bytes after them.
    private static let tables: [UInt32] = {
        var tables: [UInt32] = []
        for byte in 0..<UInt32(256) {
            var crc = byte
            for _ in 0..<8 {
                crc = crc & 1 == 0 ? crc >> 1 : (crc >> 1) ^ 0xedb8_8320
            }
            tables.append(crc)
        }
        for index in 256..<2048 {
            let before = tables[index - 256]
            tables.append(tables[Int(before & 0xff)] ^ (before >> 8))
        }
        return tables
    }()
}
#endif
