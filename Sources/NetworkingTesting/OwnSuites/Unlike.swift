#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

extension Data {
    /// Bytes of which no two portions are alike where their length is a power of ten or of two: they repeat after 251, a prime.
    package static func unlike(_ count: Int) -> Data {
        let pattern = Data(0..<251)
        var data = Data(capacity: count + pattern.count)
        while data.count < count { data.append(pattern) }
        return data.prefix(count)
    }
}
