import FoundationForNetworking
import NetworkingCore

/// The faults that affect a response body in transit.
struct BodyFaults: Sendable {
    /// The position at which the body stops.
    struct End: Comparable {
        enum Manner {
            /// The body ends with an error of a kind, or without an error if the kind is nil.
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

        /// Returns the positions of the changed bytes, with the bits to flip.
        func masks(in length: Int) -> [Int: UInt8] {
            var random = RandomSource.seeded(seed)
            var positions: Set<Int> = []
            // Floyd's algorithm for a random sample needs one draw per chosen element, regardless of the total number.
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

    /// The earliest end of the body.
    var end = End.never
    var corruption: Corruption?
    var slices: Slices?

    var isEmpty: Bool {
        end == .never && corruption == nil && slices == nil
    }
}
