#include "tools/tools_fixture.h"
