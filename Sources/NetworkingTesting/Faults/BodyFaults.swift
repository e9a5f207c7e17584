import Networking

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What happens to a body on its way.
struct BodyFaults: Sendable {
    /// Where it goes no further.
    struct End: Comparable {
        enum Manner {
            /// It ends; with an error of a kind, or unnoticed.
            case cut(NetworkingError.Kind?)
            case stall
        }

        let count: Int
        let manner: Manner

        init(after count: Int, _ manner: Manner) {
            self.count = count
            self.manner = manner
        }

        static let never = End(after: .max, .stall)

        static func < (lhs: End, rhs: End) -> Bool {
            lhs.count < rhs.count
        }

        static func == (lhs: End, rhs: End) -> Bool {
            lhs.count == rhs.count
        }
    }

    struct Corruption {
        let bytes: Int
        let seed: UInt64

        /// Which bytes change, and by what.
        func masks(in length: Int) -> [Int: UInt8] {
            var random = RandomSource.seeded(seed)
            var positions: Set<Int> = []
            // Floyd's choice of some out of many: a draw for each that is chosen, however many there are.
            for last in max(0, length - bytes)..<max(0, length) {
                let candidate = Int.random(in: 0...last, using: &random)
                positions.insert(positions.contains(candidate) ? last : candidate)
            }
            return positions.sorted()
                .reduce(into: [:]) { masks, position in
                    masks[position] = 1 << UInt8.random(in: 0..<8, using: &random)
                }
        }
    }

    struct Slices {
        let size: Int
        let pause: Duration
    }

    /// The earliest end there is.
    var end = End.never
    var corruption: Corruption?
    var slices: Slices?

    var isEmpty: Bool {
        end == .never && corruption == nil && slices == nil
    }
}
