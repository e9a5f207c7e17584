// The part of Foundation that comes without ICU, where Foundation has such a part: the data, dates, URLs and coders
// that the library needs. A file that needs more imports Foundation itself.
#if canImport(FoundationEssentials)
@_exported public import FoundationEssentials
#else
@_exported public import Foundation
#endif
