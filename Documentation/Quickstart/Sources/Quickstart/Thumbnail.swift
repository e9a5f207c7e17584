import Foundation

/// A PNG image without compression, encoded without a library.
enum Thumbnail {
    /// Returns an image of a disc on a gradient.
    static func png(side: Int, hue: Double) -> Data {
        let tint = [0.0, 1.0 / 3, 2.0 / 3].map { 0.55 + 0.4 * cos(2 * .pi * (hue - $0)) }
        var rows: [UInt8] = []
        for y in 0..<side {
            rows.append(0)
            for x in 0..<side {
                let (dx, dy) = (Double(x) / Double(side) - 0.5, Double(y) / Double(side) - 0.5)
                let light = dx * dx + dy * dy < 0.09 ? 1 : 0.55 + Double(y) / Double(side) * 0.3
                rows += tint.map { UInt8(min(255, $0 * light * 255)) }
            }
        }
        let size = bytes(side) + bytes(side)
        return Data([0x89] + "PNG\r\n\u{1A}\n".utf8)
            + chunk("IHDR", size + [8, 2, 0, 0, 0]) + chunk("IDAT", zlib(rows)) + chunk("IEND", [])
    }

    private static func chunk(_ name: String, _ content: [UInt8]) -> Data {
        let named = name.utf8 + content
        return Data(bytes(content.count) + named + bytes(Int(checksum(named))))
    }

    /// Returns the content as one stored block (RFC 1950, 1951) of up to 65,535 bytes.
    private static func zlib(_ content: [UInt8]) -> [UInt8] {
        let length = UInt16(content.count)
        var (low, high) = (1, 0)
        for byte in content {
            low = (low + Int(byte)) % 65_521
            high = (high + low) % 65_521
        }
        let lengths = [length, ~length].flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        return [0x78, 0x01, 0x01] + lengths + content + bytes(high << 16 | low)
    }

    /// Returns the CRC-32 checksum.
    private static func checksum(_ content: [UInt8]) -> UInt32 {
        var remainder = UInt32.max
        for byte in content {
            remainder ^= UInt32(byte)
            for _ in 0..<8 {
                remainder = remainder & 1 == 1 ? remainder >> 1 ^ 0xEDB8_8320 : remainder >> 1
            }
        }
        return ~remainder
    }

    private static func bytes(_ value: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(value >> $0 & 0xFF) }
    }
}
