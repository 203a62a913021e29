// SPDX-License-Identifier: Apache-2.0
// Documents as ONVIF metadata: a tt:MetadataStream as metadatastream.xsd has it (ONVIF, ver10,
// version 20.12), with a frame's objects or an event of the Analytics Service Specification.
#pragma once

#include <string>

#include "publish/document.h"

namespace dvnn::publish {

/// Returns the document as one line of XML, without its end; the arguments are those of to_line().
/// `seq` and `fields` have no place in ONVIF. Boxes are normalised: -1 to 1, x to the right and y
/// up. Objects without a box, and maps, are left out. A track's end deletes its object.
std::string to_onvif(const Document& document, const Identity& identity, uint64_t seq,
                     const std::string& fields);

}  // namespace dvnn::publish
