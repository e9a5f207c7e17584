#if URLSession
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension URLSessionConfiguration {
    /// A copy, which can be changed without changing the caller's object.
    var copied: URLSessionConfiguration {
        guard let copy = copy() as? URLSessionConfiguration else {
            preconditionFailure("The copy of a URLSessionConfiguration is not a URLSessionConfiguration.")
        }
        return copy
    }
}
#endif
